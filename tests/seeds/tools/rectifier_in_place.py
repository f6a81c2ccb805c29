"""A rectifier whose backward writes into the gradient that it gets: here a clone is missing."""

import torch
from torch.autograd import gradcheck


class Rectify(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values):
        ctx.save_for_backward(values)
        return values.clamp(min=0)

    @staticmethod
    def backward(ctx, incoming):
        (values,) = ctx.saved_tensors
        return incoming.mul_((values > 0).to(incoming.dtype))


torch.manual_seed(3)
values = torch.randn(12, dtype=torch.double, requires_grad=True)
print(gradcheck(Rectify.apply, (values,)))
print(
    "with a second way:",
    gradcheck(lambda values: Rectify.apply(values) + values, (values,), raise_exception=False),
)
