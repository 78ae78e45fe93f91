"""Megatron-LM and what is built on it (Megatron-DeepSpeed, GPT-NeoX)."""
