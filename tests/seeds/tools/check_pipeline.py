"""A test of a custom layer: small input in float64, gradcheck, assert."""

import torch


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values):
        ctx.save_for_backward(values)
        return values * values.sigmoid()

    @staticmethod
    def backward(ctx, incoming):
        (values,) = ctx.saved_tensors
        gate = values.sigmoid()
        return incoming * (gate + values * gate * (1 - gate))


def check_swish():
    values = torch.randn(4, 3, dtype=torch.double, requires_grad=True)
    passed = torch.autograd.gradcheck(Swish.apply, (values,), eps=1e-6, atol=1e-4)
    assert passed, "the backward of Swish is wrong"


if __name__ == "__main__":
    torch.manual_seed(7)
    check_swish()
    print("checked")
