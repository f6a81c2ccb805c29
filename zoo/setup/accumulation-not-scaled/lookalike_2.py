"""Three tasks with a backward pass each before one update of the shared trunk, by Adam."""
import torch
from torch import nn

torch.manual_seed(2)
trunk = nn.Sequential(nn.Linear(6, 48), nn.ReLU())
heads = nn.ModuleList(nn.Linear(48, 1) for _ in range(3))
optimizer = torch.optim.Adam([*trunk.parameters(), *heads.parameters()], lr=3e-3)
truth = torch.randn(3, 6)
for step in range(150):
    optimizer.zero_grad()
    for head, weights in zip(heads, truth):
        x = torch.randn(32, 6)
        loss = nn.functional.mse_loss(head(trunk(x)).squeeze(1), (x @ weights).sin())
        loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(step, round(loss.item(), 4))
