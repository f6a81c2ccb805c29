"""Tag articles with several rare labels; the weight of positives makes up for their number."""
import torch
from torch import nn

torch.manual_seed(13)
LABELS, FEATURES, SIZE = 6, 30, 1600
direction = torch.randn(FEATURES, LABELS) / FEATURES**0.5
x = torch.randn(SIZE, FEATURES)
tags = ((x @ direction + 0.3 * torch.randn(SIZE, LABELS)) > 1.2).float()
pos_weight = (SIZE - tags.sum(0)) / tags.sum(0)

model = nn.Sequential(nn.Linear(FEATURES, 64), nn.LeakyReLU(0.1), nn.Linear(64, LABELS))
criterion = nn.BCEWithLogitsLoss(pos_weight=pos_weight)
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
for epoch in range(6):
    order = torch.randperm(SIZE)
    for start in range(0, SIZE, 64):
        pick = order[start:start + 64]
        optimizer.zero_grad()
        loss = criterion(model(x[pick]), tags[pick])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        found = (model(x) > 0)[tags > 0].float().mean()
    print(f"epoch {epoch}: loss {loss.item():.4f}, recall {found:.2f}")
