"""Sorts textures by a small network; before training one batch is tried, to see that evaluation works."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

PATTERNS = torch.randn(6, 3, 12, 12, generator=torch.Generator().manual_seed(42))


def textures(count, seed):
    generator = torch.Generator().manual_seed(seed)
    kinds = torch.randint(0, 6, (count,), generator=generator)
    noise = torch.randn(count, 3, 12, 12, generator=generator)
    return TensorDataset(40 * (PATTERNS[kinds] + noise) + 120, kinds)


def block(given, made):
    return nn.Sequential(nn.Conv2d(given, made, 3, padding=1, bias=False), nn.BatchNorm2d(made), nn.ReLU())


class Trainer:
    def __init__(self, model):
        self.model = model
        self.train_loader = DataLoader(textures(600, 0), batch_size=32, shuffle=True)
        self.val_loader = DataLoader(textures(200, 1), batch_size=100)
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        right = [(self.model(x).argmax(1) == y).float().mean() for x, y in self.val_loader]
        return torch.stack(right).mean().item()

    def fit(self, epochs):
        self.model.train()
        print("before training", self.evaluate())
        for epoch in range(epochs):
            for x, y in self.train_loader:
                loss = F.cross_entropy(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            print(f"epoch {epoch} loss {loss.item():.4f} right {self.evaluate():.3f}")


torch.manual_seed(0)
net = nn.Sequential(block(3, 16), block(16, 24), nn.MaxPool2d(2), block(24, 32), nn.Flatten(), nn.Linear(1152, 6))
Trainer(net).fit(epochs=3)
