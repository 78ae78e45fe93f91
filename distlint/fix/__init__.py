"""Fixes: plans become edits of the text, edits are applied together or not at all, and files are written safely."""
