"""Five folds: model and optimizer are made anew for each, under the same names."""
import torch
from torch import nn

torch.manual_seed(3)
data = torch.randn(400, 6)
labels = (data[:, 0] * data[:, 1] > 0).long()

for fold in range(5):
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    held_out = torch.arange(400) % 5 == fold
    for _ in range(60):
        rows = torch.randint(0, 320, (64,))
        x, y = data[~held_out][rows], labels[~held_out][rows]
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        right = (model(data[held_out]).argmax(dim=1) == labels[held_out]).float().mean()
    print(fold, round(loss.item(), 3), round(right.item(), 3))
