"""Hugging Face transformers, Accelerate and TRL."""
