"""Embeddings of `add_embedding`: the files that a SummaryWriter leaves beside the log, read as plain data."""
