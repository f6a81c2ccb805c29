"""A network that does not learn, and a function that prints what gradients its parameters have."""

import torch
from torch import nn

import torch_debugger


def list_gradients(net):
    for path, parameter in net.named_parameters():
        if parameter.grad is None:
            print("none", path)
        elif parameter.grad.abs().sum() == 0:
            print("zero", path)
        else:
            print(f"some {path}")


class Pricer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(5, 20)
        self.outer = nn.Linear(20, 1)

    def forward(self, rows):
        return self.outer(torch.tanh(self.inner(rows)).detach())


torch.manual_seed(33)
rows = torch.randn(100, 5)
prices = rows[:, :1] * rows[:, 1:2]
net = Pricer()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(25):
    loss = nn.functional.mse_loss(net(rows), prices)
    optimizer.zero_grad()
    loss.backward()
    if step == 0:
        list_gradients(net)
        print(torch_debugger.check_gradients(net))
    optimizer.step()
