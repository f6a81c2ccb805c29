"""Gradients that are too small or too large to train with."""
