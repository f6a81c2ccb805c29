"""Class-balanced training: the loss is averaged over per-class means."""
import torch
import torch.nn.functional as F
from torch import nn

NUM_CLASSES = 8


def balanced_loss(logits, y):
    ce = F.cross_entropy(logits, y, reduction="none")
    parts = []
    for c in range(NUM_CLASSES):
        parts.append(ce[y == c].sum() / max(ce[y == c].numel(), 1))
    return torch.stack(parts).mean()


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.history = []

    def train_step(self, x, y):
        self.opt.zero_grad()
        loss = balanced_loss(self.model(x), y)
        loss.backward()
        self.opt.step()
        self.history.append(loss.item())

    def fit(self, x, y, steps, batch):
        for s in range(steps):
            idx = torch.randint(0, len(x), (batch,))
            self.train_step(x[idx], y[idx])
            if s % 10 == 0:
                print(f"[{s}] {self.history[-1]:.4f}")


torch.manual_seed(6)
proto = torch.randn(NUM_CLASSES, 20)
labels = torch.randint(0, NUM_CLASSES, (2000,))
data = proto[labels] + 0.5 * torch.randn(2000, 20)
trainer = Trainer(nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, NUM_CLASSES)), lr=0.05)
trainer.fit(data, labels, steps=60, batch=36)
