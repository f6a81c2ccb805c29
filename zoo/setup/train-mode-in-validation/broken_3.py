"""Noisy-label classification with heavy dropout; a closure measures held-out accuracy."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def build():
    return nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Dropout(0.6), nn.Linear(128, 128), nn.ReLU(),
                         nn.Dropout(0.6), nn.Linear(128, 3))


def make_steps(model, optimizer, criterion):
    def train_step(x, y):
        model.train()
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    def validate(loader):
        model.eval
        right, total = 0, 0.0
        with torch.no_grad():
            for x, y in loader:
                out = model(x)
                right += (out.argmax(1) == y).sum().item()
                total += criterion(out, y).item() * len(y)
        return right / len(loader.dataset), total / len(loader.dataset)

    return train_step, validate


torch.manual_seed(81)
x = torch.randn(1200, 16)
y = (x @ torch.randn(16, 3)).argmax(1)
train, valid = random_split(TensorDataset(x, y), [900, 300])
train_loader, valid_loader = DataLoader(train, 30, shuffle=True), DataLoader(valid, 100)
model = build()
train_step, validate = make_steps(model, torch.optim.AdamW(model.parameters(), 2e-3), nn.CrossEntropyLoss())
for epoch in range(8):
    mean = sum(train_step(*b) for b in train_loader) / len(train_loader)
    print(epoch, round(mean, 3), validate(valid_loader))
