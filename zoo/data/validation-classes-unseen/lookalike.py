# Metric learning: the encoder is judged on kinds it has never seen, by its nearest neighbours.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
kind = torch.randint(0, 8, (800,))
x = torch.randn(8, 16)[kind] + 0.4 * torch.randn(800, 16)
known = kind < 6
train_loader = DataLoader(TensorDataset(x[known], kind[known]), batch_size=48, shuffle=True)
test_loader = DataLoader(TensorDataset(x[~known], kind[~known]), batch_size=48)
encoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))
optimizer = torch.optim.Adam(encoder.parameters(), lr=2e-3)
for epoch in range(8):
    encoder.train()
    for points, labels in train_loader:
        code = encoder(points)
        apart = torch.cdist(code, code)
        same = labels[:, None] == labels[None]
        loss = apart[same].square().mean() + torch.relu(2.0 - apart[~same]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    encoder.eval()
    with torch.no_grad():
        found = [(encoder(points), labels) for points, labels in test_loader]
    codes, labels = torch.cat([a for a, _ in found]), torch.cat([b for _, b in found])
    nearest = (torch.cdist(codes, codes) + 1e9 * torch.eye(len(codes))).argmin(1)
    print(f"{epoch}: {loss.item():.3f} {(labels[nearest] == labels).float().mean().item():.2f}")
