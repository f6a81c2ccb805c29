"""More than one process, and processes that stand still."""
