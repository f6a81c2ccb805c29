"""What shows a run: the TensorBoard tab."""
