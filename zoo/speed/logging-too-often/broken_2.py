# Trains a classifier of two spirals; keeps the weights of the run in a file, to look at them later.
import json

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.fc1 = nn.Linear(2, width)
        self.fc2 = nn.Linear(width, width)
        self.fc3 = nn.Linear(width, 2)

    def forward(self, x):
        x = torch.tanh(self.fc1(x))
        x = torch.tanh(self.fc2(x))
        return self.fc3(x)


def spirals(n):
    label = torch.randint(0, 2, (n,))
    radius = torch.rand(n)
    angle = 6 * radius + 3.1416 * label
    points = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)
    return points * 2 + 0.03 * torch.randn(n, 2), label


def keep(history, step, model, loss):
    weights = {name: p.flatten().tolist() for name, p in model.named_parameters()}
    history.write(json.dumps({"step": step, "loss": loss, "weights": weights}) + "\n")


def train(model, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    with open("history.jsonl", "w") as history:
        for step in range(steps):
            points, label = spirals(256)
            loss = F.cross_entropy(model(points), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            keep(history, step, model, loss.item())
            if step % 50 == 0:
                print(f"step {step} loss {loss.item():.4f}")


torch.manual_seed(4)
train(Net(), 400)
