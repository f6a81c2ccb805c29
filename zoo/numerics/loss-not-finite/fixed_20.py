"""Image retrieval features with root pooling."""
import torch
from torch import nn


class RootPool(nn.Module):
    def forward(self, x):
        return (x.mean(dim=(2, 3)) + 1e-8).pow(0.5)


class Retrieval(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.Conv2d(16, 32, 3), nn.Softplus(), nn.Dropout2d(0.1))
        self.pool = RootPool()
        self.fc = nn.Linear(32, classes)

    def forward(self, x):
        return self.fc(self.pool(self.conv(x)))


torch.manual_seed(2)
model = Retrieval()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
bank = torch.randn(4, 1, 8, 8)

for step in range(60):
    y = torch.randint(0, 4, (16,))
    x = bank[y] + 0.5 * torch.randn(16, 1, 8, 8)
    loss = criterion(model(x), y)
    model.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(f"{step:3d} {loss.item():.4f}")
