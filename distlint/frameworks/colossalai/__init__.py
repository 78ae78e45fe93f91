"""Colossal-AI."""
