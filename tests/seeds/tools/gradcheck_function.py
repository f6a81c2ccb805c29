"""A function around torch's gradcheck that answers with yes or no, and ours beside it."""

import torch
from torch import nn

import torch_debugger


def gradients_agree(layer, inputs, tolerance=1e-6):
    return torch.autograd.gradcheck(layer, inputs, eps=1e-6, atol=tolerance, rtol=tolerance, raise_exception=False)


torch.manual_seed(1)
layer = nn.Bilinear(3, 2, 4).double()
pair = tuple(torch.randn(5, size, dtype=torch.double, requires_grad=True) for size in (3, 2))
print("torch:", gradients_agree(layer, pair))
print("ours:", bool(torch_debugger.gradcheck(layer, pair)))
