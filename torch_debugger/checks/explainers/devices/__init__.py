"""Tensors on two devices, and devices that are not there."""
