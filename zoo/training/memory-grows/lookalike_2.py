"""Several losses of one step are collected in a list and added up; the history keeps plain numbers."""
import torch
from torch import nn


def make_data(generator, count=64):
    x = torch.randn(count, 12, generator=generator)
    return x, (x[:, :3].sum(1) > 0).long(), x[:, 3:6].prod(1)


torch.manual_seed(5)
generator = torch.Generator().manual_seed(11)
trunk = nn.Sequential(nn.Linear(12, 48), nn.GELU())
heads = nn.ModuleDict({"side": nn.Linear(48, 2), "product": nn.Linear(48, 1)})
optimizer = torch.optim.Adam([*trunk.parameters(), *heads.parameters()], lr=2e-3)
history = {"loss": [], "best": None}
kept = []

for step in range(250):
    x, side, product = make_data(generator)
    hidden = trunk(x)
    parts = []
    parts.append(nn.functional.cross_entropy(heads["side"](hidden), side))
    parts.append(nn.functional.smooth_l1_loss(heads["product"](hidden).squeeze(1), product))
    loss = sum(parts)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history["loss"].append(loss.detach())
    kept = (kept + parts)[-4:]  # the last two steps, for the message below
    if step % 50 == 49:
        print(step + 1, [round(part.item(), 3) for part in kept])
