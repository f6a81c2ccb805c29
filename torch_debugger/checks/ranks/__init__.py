"""Checks of several processes: ranks, and the workers of loaders."""
