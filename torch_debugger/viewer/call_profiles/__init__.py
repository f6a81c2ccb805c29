"""Profiles that Python's own cProfile and profile have written, for the page."""
