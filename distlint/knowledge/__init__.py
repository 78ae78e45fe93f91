"""Data from the real releases of frameworks and packages, and the functions that look things up in it."""
