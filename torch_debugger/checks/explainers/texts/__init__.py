"""Tracebacks of which only the text is known."""
