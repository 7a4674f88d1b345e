"""Declared options, and what functions and jobs read at their start."""
