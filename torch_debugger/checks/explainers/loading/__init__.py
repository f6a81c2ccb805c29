"""Datasets, loaders and their workers."""
