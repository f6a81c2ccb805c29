"""Graphs of `add_graph`: from the bytes in an event file to a model's operations."""
