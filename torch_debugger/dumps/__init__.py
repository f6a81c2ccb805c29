"""Memory snapshots in files: our own JSON, and the pickles that PyTorch writes, of which nothing is run."""
