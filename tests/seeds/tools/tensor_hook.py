"""Prints the gradient that comes back to a tensor in the middle."""

import torch

import torch_debugger


def show(gradient):
    print(f"{tuple(gradient.shape)} mean {gradient.mean().item():.3f}")
    print(torch_debugger.describe(gradient))
    return gradient


start = torch.tensor([0.5, -1.0, 2.0, 3.0], requires_grad=True)
middle = start * 3
middle.register_hook(show)
middle.pow(2).sum().backward()
