"""What a model is given, looked at: one batch of a loader, the samples of a dataset."""
