"""Judging: rule files, the condition language, selection, suppression, and the dispatch over subjects."""
