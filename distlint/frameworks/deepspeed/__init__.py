"""DeepSpeed: its configuration, launcher and calls."""
