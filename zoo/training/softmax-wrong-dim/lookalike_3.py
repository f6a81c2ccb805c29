"""Slot attention: the softmax competes over slots, then the weights are normalised over the inputs."""
import torch
import torch.nn.functional as F
from torch import nn


class Slots(nn.Module):
    def __init__(self, d=16, slots=3):
        super().__init__()
        self.init = nn.Parameter(torch.randn(1, slots, d))
        self.k, self.v, self.q = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.gru = nn.GRUCell(d, d)
        self.norm = nn.LayerNorm(d)
        self.inp = nn.Linear(4, d)
        self.out = nn.Linear(3 * d, 5)

    def forward(self, x):
        x = self.inp(x)
        slots = self.init.expand(len(x), -1, -1)
        k, v = self.k(x), self.v(x)
        for _ in range(2):
            att = (self.q(self.norm(slots)) @ k.transpose(1, 2) / 4).softmax(dim=1) + 1e-6
            att = att / att.sum(-1, keepdim=True)
            slots = self.gru((att @ v).flatten(0, 1), slots.flatten(0, 1)).view_as(slots)
        return self.out(slots.flatten(1))


torch.manual_seed(0)
net = Slots()
opt = torch.optim.Adam(net.parameters(), 3e-3)
for step in range(120):
    x = torch.randn(32, 9, 4)
    y = (x[:, :, 0].mean(1) * 6).round().clamp(-2, 2).long() + 2
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
