"""Learn 2-D positions of a graph's nodes with a compiled stress function."""
import torch
from torch import nn


class Layout(nn.Module):
    def __init__(self, nodes, dim=2):
        super().__init__()
        self.embed = nn.Embedding(nodes, 8)
        self.to_xy = nn.Linear(8, dim)

    def forward(self):
        return self.to_xy(self.embed.weight)


def stress(pos, want):
    diff = pos[:, None] - pos[None]
    dist = torch.sqrt((diff ** 2).sum(-1) + 1e-8)
    return ((dist - want) ** 2).mean()


stress_c = torch.compile(stress, backend="aot_eager")

torch.manual_seed(0)
hidden = torch.rand(20, 2) * 3
want = torch.cdist(hidden, hidden)
layout = Layout(20)
opt = torch.optim.Adam(layout.parameters(), lr=1e-2)
for it in range(30):
    loss = stress_c(layout(), want)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 5 == 0:
        print(it, loss.item())
