"""Train in two sessions: the second one resumes from the first one's checkpoint."""
import os
import tempfile

import torch
from torch import nn


class Regressor(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.inner = nn.Linear(6, width)
        self.outer = nn.Linear(width, 1)

    def forward(self, x):
        return self.outer(torch.tanh(self.inner(x))).squeeze(1)


def train(model, optimizer, steps):
    for step in range(steps):
        x = torch.randn(64, 6)
        loss = nn.functional.mse_loss(model(x), x[:, 0] * x[:, 1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def save(path, model, optimizer, epoch):
    torch.save({"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)


def resume(path, model, optimizer):
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    return checkpoint["epoch"]


torch.manual_seed(0)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "last.ckpt")
    model = Regressor()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    train(model, optimizer, 40)
    save(path, model, optimizer, epoch=1)

    model = Regressor()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    epoch = resume(path, model, optimizer)
    print("epoch", epoch + 1, "loss", train(model, optimizer, 80))
