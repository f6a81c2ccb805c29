"""The loss over a training."""
