"""Tensor to numbers: one pass each, on the tensor's own device, no copy of the data."""
