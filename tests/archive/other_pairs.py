"""Pairs of scripts of other kinds: what rounding does to Adam and batch norm, and two optimizers in turn."""

from __future__ import annotations

NORMED = """
import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)  # its bias does nothing: its gradient is rounding alone
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        return self.head(torch.relu(self.norm(self.conv(x))).mean((2, 3)))


X = torch.randn(64, 3, 8, 8)
Y = torch.randint(0, 10, (64,))
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(25):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(X), Y)
    loss.backward()
    opt.step()
"""

ADVERSARIES = """
import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
D = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3)
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
real, fake = torch.ones(32, 1), torch.zeros(32, 1)
for step in range(12):
    made = G(torch.randn(32, 8))
    loss_d = bce(D(torch.randn(32, 4) + 2), real) + bce(D(made.detach()), fake)
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()
    loss_g = bce(D(made), real)
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
"""

PLAIN = """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(6):
    x = torch.randn(64, 8)
    opt.zero_grad()
    for part in x.chunk(1):
        loss = nn.functional.mse_loss(net(part), part.sum(1, keepdim=True)) / 1
        loss.backward()
    opt.step()
"""

PAIRS = {
    "plain": PLAIN,
    "plain, in parts": PLAIN.replace("x.chunk(1)", "x.chunk(2)").replace("/ 1", "/ 2"),
    "normed": NORMED,
    "normed, rounded": NORMED.replace("self.conv(x)", "self.conv(x * 3.0 / 3.0)"),
    "normed, summed in turn": NORMED.replace(".mean((2, 3))", ".mean(3).mean(2)"),
    "adversaries": ADVERSARIES,
    "adversaries, slope": ADVERSARIES.replace("LeakyReLU(0.2)", "LeakyReLU(0.1)"),
    "adversaries, rate": ADVERSARIES.replace("D.parameters(), lr=1e-3", "D.parameters(), lr=2e-3"),
    "adversaries, epsilon": ADVERSARIES.replace("D.parameters(), ", "D.parameters(), eps=1e-2, "),
    "adversaries, loss": ADVERSARIES.replace("loss_g = bce(D(made), real)", "loss_g = -bce(D(made), fake)"),
}
