"""Fits a small network whose activation is written as an autograd Function of its own."""
import torch
from torch import nn

torch.manual_seed(0)


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        gate = torch.sigmoid(x)
        ctx.save_for_backward(x, gate)
        return x * gate

    @staticmethod
    def backward(ctx, grad_output):
        x, gate = ctx.saved_tensors
        return grad_output * (gate - x * gate * (1 - gate))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 32)
        self.second = nn.Linear(32, 32)
        self.last = nn.Linear(32, 1)

    def forward(self, x):
        x = Swish.apply(self.first(x))
        x = Swish.apply(self.second(x))
        return self.last(x)


inputs = torch.randn(256, 8)
targets = inputs[:, :1] * inputs[:, 1:2] + 0.5 * inputs[:, 2:3]
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for step in range(200):
    batch = torch.randint(0, 256, (64,))
    loss = nn.functional.mse_loss(model(inputs[batch]), targets[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
