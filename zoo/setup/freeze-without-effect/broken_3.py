"""Low-rank adapters on a small pretrained network: only the adapters should learn."""
import torch
from torch import nn


class Adapter(nn.Module):
    def __init__(self, base, rank=4):
        super().__init__()
        self.base = base
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(10, 64), nn.Linear(64, 64), nn.Linear(64, 1)

    def forward(self, x):
        return self.last(torch.relu(self.second(torch.relu(self.first(x)))))


def task(shift):
    x = torch.randn(64, 10)
    return x, torch.sin(x[:, :1] + shift) + x[:, 1:2] * x[:, 2:3]


def optimise(model, parameters, shift, steps, lr):
    opt = torch.optim.Adam(parameters, lr=lr)
    for _ in range(steps):
        x, y = task(shift)
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        opt.step()
    return loss.item()


torch.manual_seed(8)
net = Net()
print("pretrained", optimise(net, net.parameters(), 0.0, 150, 3e-3))
net.first, net.second = Adapter(net.first), Adapter(net.second)
for name, parameter in net.named_parameters():
    if name in ("first.base", "second.base", "last"):
        parameter.requires_grad = False
print("adapted", optimise(net, net.parameters(), 1.0, 150, 3e-2))
x, y = task(0.0)
print("old task now", nn.functional.mse_loss(net(x), y).item())
