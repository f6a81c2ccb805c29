"""Autoencoder of binary patterns: sigmoid output with the loss that expects probabilities."""
import torch
from torch import nn

torch.manual_seed(2)
stamps = (torch.rand(6, 36) < 0.4).float()
net = nn.Sequential(nn.Linear(36, 24), nn.ReLU(), nn.Linear(24, 36), nn.Sigmoid())
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
criterion = nn.BCELoss()

for step in range(250):
    clean = stamps[torch.randint(0, 6, (64,))]
    noisy = (clean + (torch.rand(64, 36) < 0.08)) % 2
    loss = criterion(net(noisy), clean)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"{step:4d} {loss.item():.4f}")
