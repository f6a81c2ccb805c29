"""Checks of several processes: ranks, the workers of loaders, and processes that stand still."""
