"""A function whose backward multiplies shapes that do not fit."""
import torch


class Mix(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        return grad_output @ weight, x.t() @ grad_output


torch.manual_seed(0)
weight = torch.randn(4, 3, requires_grad=True)
for step in range(3):
    loss = Mix.apply(torch.randn(8, 4, requires_grad=True), weight).pow(2).mean()
    loss.backward()
