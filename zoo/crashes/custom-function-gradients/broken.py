"""A network whose hidden values are rounded to a few levels."""
import torch
import torch.nn as nn


class Quantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, levels):
        return torch.round(x * levels) / levels

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 24)
        self.fc2 = nn.Linear(24, 1)

    def forward(self, x):
        return self.fc2(Quantize.apply(torch.tanh(self.fc1(x)), 8))


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
x = torch.randn(256, 6)
y = x[:, :1].sin() + 0.5 * x[:, 1:2]
for step in range(100):
    loss = (net(x) - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f}")
