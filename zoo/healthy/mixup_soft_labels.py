"""Mixup with soft labels and a cosine schedule; accuracy on clean data in between."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(10)
centers = 1.6 * torch.randn(7, 14)
model = nn.Sequential(nn.Linear(14, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 7))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=200)


def batch(n=64):
    y = torch.randint(0, 7, (n,))
    return centers[y] + torch.randn(n, 14), y


for step in range(200):
    model.train()
    x, y = batch()
    share = float(torch.distributions.Beta(0.4, 0.4).sample())
    order = torch.randperm(len(x))
    hot = F.one_hot(y, 7).float()
    mixed, soft = share * x + (1 - share) * x[order], share * hot + (1 - share) * hot[order]
    loss = F.cross_entropy(model(mixed), soft)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    if step % 50 == 0:
        model.eval()
        with torch.no_grad():
            x, y = batch(256)
            print(step, round(loss.item(), 3), "accuracy", (model(x).argmax(1) == y).float().mean().item())
