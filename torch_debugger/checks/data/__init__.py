"""What the model is fed: batches, labels, their order, and what training and validation share."""
