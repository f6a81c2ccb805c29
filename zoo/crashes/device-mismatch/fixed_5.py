"""Unbalanced classes: the loss counts rare classes more. A dry run of one epoch on the meta device."""
import torch
import torch.nn as nn

device = torch.device("meta")
counts = torch.tensor([900.0, 80.0, 20.0])
criterion = nn.CrossEntropyLoss(weight=counts.sum() / counts).to(device)
model = nn.Sequential(nn.Linear(30, 64), nn.Tanh(), nn.Linear(64, 3)).to(device)

for batch in range(10):
    x = torch.empty(100, 30, device=device)
    y = torch.empty(100, dtype=torch.long, device=device)
    scores = model(x)
    loss = criterion(scores, y)
    print(batch, tuple(scores.shape), tuple(loss.shape))
