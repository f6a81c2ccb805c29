"""A weighted loss that is brought to one number."""
import torch
import torch.nn as nn

torch.manual_seed(0)
centers = torch.randn(3, 6)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss(reduction="none")
for step in range(100):
    labels = torch.randint(0, 3, (64,))
    weight = 0.5 + torch.rand(64)
    loss = (criterion(model(centers[labels] + 0.3 * torch.randn(64, 6)), labels) * weight).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
