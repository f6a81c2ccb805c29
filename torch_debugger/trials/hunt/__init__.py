"""The hunt for the op that made a NaN or Inf: a piece of training run once more, op by op."""
