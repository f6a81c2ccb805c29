"""Anomaly mode with arguments that torch's does not have."""

import torch

torch.manual_seed(15)
weight = torch.randn(5, requires_grad=True)
with torch.autograd.detect_anomaly(check_nan=True, check_inf=True, stacklevel=3):
    (weight * 2).sum().backward()
