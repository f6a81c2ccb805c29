"""Training with a soft sign activation written as an autograd Function."""
import torch
from torch import nn


class SignedRoot(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.sign() * x.abs().sqrt()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g / (2 * y.abs())


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.lin = nn.Linear(d, d)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return x + SignedRoot.apply(self.drop(self.lin(x)))


torch.manual_seed(5)
net = nn.Sequential(nn.Linear(6, 16), Block(16), Block(16), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.02)
for step in range(50):
    x = torch.rand(32, 6)
    y = x.prod(1, keepdim=True)
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, loss.item())
