"""The loss and the way it is minimised."""
