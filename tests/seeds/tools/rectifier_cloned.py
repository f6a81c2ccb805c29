"""A rectifier whose backward multiplies the incoming gradient, after a needless clone."""

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
        return incoming.clone() * (values > 0).to(incoming.dtype)


torch.manual_seed(3)
values = torch.randn(12, dtype=torch.double, requires_grad=True)
print(gradcheck(Rectify.apply, (values,)))
