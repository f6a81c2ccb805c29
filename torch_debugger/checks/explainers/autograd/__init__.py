"""Crashes of backward: graphs that are cut, freed or overwritten."""
