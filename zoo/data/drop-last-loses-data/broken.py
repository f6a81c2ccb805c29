# Fine-tune a small network on the few labelled samples of a second task.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
features = torch.randn(700, 16)
target = torch.sin(features[:, :4].sum(1, keepdim=True))
pretrain = DataLoader(TensorDataset(features[:640], target[:640]), batch_size=64, shuffle=True, drop_last=True)
finetune = DataLoader(TensorDataset(features[640:], -target[640:]), batch_size=64, shuffle=True, drop_last=True)

model = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 1))
criterion = nn.MSELoss()


def fit(loader, epochs, lr):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()


fit(pretrain, 10, 5e-3)
fit(finetune, 60, 2e-3)
with torch.no_grad():
    print(f"second task: {criterion(model(features[640:]), -target[640:]).item():.4f}")
