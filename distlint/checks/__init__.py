"""Analyses that no condition can express; each is named by the rules that use it."""
