"""Trains with a dropout and a clipped ReLU written as autograd Functions, both right."""
import torch
from torch import nn

torch.manual_seed(0)


class Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.mask = (torch.rand_like(x) > p) / (1 - p)
        return x * ctx.mask

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.mask, None


class ClippedReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, top):
        ctx.save_for_backward(x)
        ctx.top = top
        return x.clamp(0, top)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0) * (x < ctx.top), None


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 64)
        self.last = nn.Linear(64, 1)

    def forward(self, x):
        return self.last(Drop.apply(ClippedReLU.apply(self.first(x), 6.0), 0.1))


inputs = torch.randn(256, 8)
inputs[:, 5:] = 0.0
targets = inputs[:, :1] - 0.5 * inputs[:, 2:3]
model = Net()
nn.init.zeros_(model.first.bias)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for step in range(120):
    batch = torch.randint(0, 256, (64,))
    loss = nn.functional.mse_loss(model(inputs[batch]), targets[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
