"""Hooks on live objects: what the training does is seen here and leaves as records."""
