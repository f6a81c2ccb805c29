"""A whole training step rehearsed without a GPU: how much memory it would take there, and which batch fits."""
