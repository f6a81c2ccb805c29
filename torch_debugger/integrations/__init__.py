"""Doors to the places where people work: interpreters, notebooks, frameworks."""
