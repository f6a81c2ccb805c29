import torch
import torch.nn as nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 12
torch.manual_seed(2)


def waves(n):
    """Noisy waveforms: sine, square, sawtooth, chirp."""
    t = torch.linspace(0, 1, 64)
    y = torch.randint(0, 4, (n,))
    f = 2 + 3 * torch.rand(n, 1)
    ph = torch.rand(n, 1)
    base = f * t + ph
    sine = torch.sin(2 * torch.pi * base)
    square = torch.sign(sine)
    saw = 2 * (base % 1) - 1
    chirp = torch.sin(2 * torch.pi * (f * t ** 2 * 1.5 + ph))
    x = torch.stack([sine, square, saw, chirp], 0)[y, torch.arange(n)]
    x = x + 0.5 * torch.randn_like(x)
    return x.unsqueeze(1) / x.std(), y


def build():
    return nn.Sequential(
        nn.Conv1d(1, 16, 7, padding=3), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(2),
        nn.Conv1d(16, 24, 5, padding=2), nn.BatchNorm1d(24), nn.ReLU(), nn.AdaptiveAvgPool1d(4),
        nn.Flatten(), nn.Linear(96, 4),
    )


def train_one_epoch(model, loader, criterion, optimizer, scheduler):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    hits = [(model(x).argmax(1) == y).float() for x, y in loader]
    return torch.cat(hits).mean().item()


train_loader = DataLoader(TensorDataset(*waves(1280)), batch_size=64, shuffle=True)
val_loader = DataLoader(TensorDataset(*waves(400)), batch_size=100)
model = build()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
scheduler = StepLR(optimizer, step_size=4, gamma=0.3)

for epoch in range(EPOCHS):
    loss = train_one_epoch(model, train_loader, criterion, optimizer, scheduler)
    print(f"epoch {epoch + 1}/{EPOCHS} loss {loss:.4f} val acc {accuracy(model, val_loader):.3f}")
