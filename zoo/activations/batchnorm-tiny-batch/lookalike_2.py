"""The data do not divide evenly: the last batch of an epoch holds two rows, the others 32."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
x = torch.randn(322, 10)
y = (x[:, :2].sum(1) > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(20):
    model.train()
    for features, target in loader:
        loss = nn.functional.cross_entropy(model(features), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = (model(x).argmax(1) == y).float().mean().item()
print("accuracy", right)
