"""A run shown in W&B, MLflow or Trackio as well: a courier follows the log and carries it there."""
