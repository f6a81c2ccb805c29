"""A classifier and its adversary: the adversary's loss is small, and the other loss does not grow."""
import torch
from torch import nn

torch.manual_seed(1)
encoder = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 8))
domain = nn.Linear(8, 1)
task = nn.Linear(8, 1)
main = torch.optim.Adam([*encoder.parameters(), *task.parameters()], lr=3e-3)
other = torch.optim.Adam(domain.parameters(), lr=1e-2)
bce = nn.BCEWithLogitsLoss()
for step in range(250):
    side = torch.randint(0, 2, (64, 1)).float()
    x = torch.randn(64, 12)
    x[:, :1] += 6 * side
    target = (x[:, 1:2] > 0).float()
    hidden = encoder(x)
    loss_domain = bce(domain(hidden.detach()), side)
    other.zero_grad()
    loss_domain.backward()
    other.step()
    loss_task = bce(task(hidden), target) - 0.05 * bce(domain(hidden), side).clamp(max=1.0)
    main.zero_grad()
    loss_task.backward()
    main.step()
print(loss_domain.item(), loss_task.item())
