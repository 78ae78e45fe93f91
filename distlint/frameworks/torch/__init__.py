"""PyTorch's own distributed package."""
