"""A model kept in half precision with an energy gate."""
import torch
from torch import nn


class EnergyGate(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.g = nn.Parameter(torch.ones(d))

    def forward(self, x):
        e = (x / x.abs().amax(dim=-1, keepdim=True)).pow(2)
        return e / e.amax(dim=-1, keepdim=True) * self.g


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(32, 64)
        self.gate = EnergyGate(64)
        self.down = nn.Linear(64, 4)

    def forward(self, x):
        return self.down(torch.relu(self.gate(self.up(x))))


def main():
    torch.manual_seed(6)
    net = Net().half()
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    proto = torch.randn(4, 32)
    for step in range(50):
        y = torch.randint(0, 4, (32,))
        scale = 10 ** (torch.rand(32, 1) * (0.5 + step / 20))
        x = ((proto[y] + 0.2 * torch.randn(32, 32)) * scale).half()
        loss = nn.functional.cross_entropy(net(x).float(), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 0:
            print(f"{step}: {loss.item():.4f}")


main()
