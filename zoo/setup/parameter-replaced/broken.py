"""A small classifier whose output rows are brought to length one after each update."""
import torch
from torch import nn

torch.manual_seed(0)
means = torch.randn(6, 12)
model = nn.Sequential(nn.Linear(12, 48), nn.Tanh(), nn.Linear(48, 6))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for step in range(150):
    labels = torch.randint(0, 6, (64,))
    points = means[labels] + 0.7 * torch.randn(64, 12)
    loss = nn.functional.cross_entropy(4 * model(points), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    head = model[2]
    head.weight = nn.Parameter(nn.functional.normalize(head.weight.detach(), dim=1))
    if step % 30 == 0:
        print(step, round(loss.item(), 4))
