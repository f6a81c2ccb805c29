"""Layers that stopped carrying a signal."""
