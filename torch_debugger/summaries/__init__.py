"""Values of a training to what TensorBoard shows: `SummaryWriter` and its methods."""
