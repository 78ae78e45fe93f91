"""Finds the files of a project that matter, and reads their bytes."""
