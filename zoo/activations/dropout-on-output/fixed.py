"""Digits-like classifier in one Sequential, with regularisation at the end."""
import torch
import torch.nn as nn

torch.manual_seed(0)
centers = torch.randn(10, 32)
model = nn.Sequential(
    nn.Linear(32, 64),
    nn.ReLU(),
    nn.Dropout(0.3),
    nn.Linear(64, 10),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(300):
    y = torch.randint(0, 10, (64,))
    x = centers[y] + 0.5 * torch.randn(64, 32)
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, round(loss.item(), 4))
