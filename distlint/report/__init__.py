"""Faces of a report: text for people, and the formats that other programs read."""
