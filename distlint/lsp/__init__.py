"""The language server: open buffers in, diagnostics, actions and hover texts out."""
