"""A small classifier trained by a trainer class with a warm-up and a cosine."""
import math

import torch
import torch.nn.functional as F
from torch import nn, optim


class Classifier(nn.Module):
    def __init__(self, width=48, classes=6):
        super().__init__()
        self.norm = nn.LayerNorm(20)
        self.hidden = nn.Linear(20, width)
        self.out = nn.Linear(width, classes)

    def forward(self, x):
        return self.out(F.gelu(self.hidden(self.norm(x))))


class Trainer:
    def __init__(self, model, steps):
        self.model = model
        self.steps = steps
        self.optimizer = optim.AdamW(model.parameters(), lr=4e-3, weight_decay=1e-2)
        self.lr_schedule = optim.lr_scheduler.LambdaLR(self.optimizer, self.rate_at)

    def rate_at(self, step):
        if step < 20:
            return (step + 1) / 20
        return 0.5 * (1 + math.cos(math.pi * (step - 20) / (self.steps - 20)))

    def train(self, sample):
        for step in range(self.steps):
            x, y = sample(64)
            loss = F.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            self.lr_schedule.step
            if step % 50 == 0:
                print(step, round(loss.item(), 4))


def main():
    torch.manual_seed(4)
    centers = torch.randn(6, 20)

    def sample(n):
        y = torch.randint(0, 6, (n,))
        return centers[y] + 0.9 * torch.randn(n, 20), y

    Trainer(Classifier(), steps=250).train(sample)


if __name__ == "__main__":
    main()
