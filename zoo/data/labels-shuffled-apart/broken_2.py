"""Predicts the yield of a field from a dozen soil readings; batches come from a small class of its own."""

import numpy as np
import torch
from torch import nn


class Fields:
    def __init__(self, count, seed):
        self.rng = np.random.default_rng(seed)
        self.readings = self.rng.normal(size=(count, 12)).astype("float32")
        weights = np.linspace(-1.0, 1.0, 12)
        signal = self.readings @ weights + 0.5 * self.readings[:, 0] * self.readings[:, 1]
        self.yields = (signal / signal.std() + 0.1 * self.rng.normal(size=count)).astype("float32")

    def __len__(self):
        return len(self.readings)

    def next_epoch(self):
        self.rng.shuffle(self.readings)

    def batch(self, start, size):
        stop = min(start + size, len(self))
        readings = torch.from_numpy(self.readings[start:stop])
        return readings, torch.from_numpy(self.yields[start:stop])


def train(model, fields, epochs=6, size=32):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    for epoch in range(epochs):
        fields.next_epoch()
        losses = []
        for start in range(0, len(fields), size):
            readings, yields = fields.batch(start, size)
            loss = nn.functional.mse_loss(model(readings).squeeze(-1), yields)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: mse {np.mean(losses):.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    train(nn.Sequential(nn.Linear(12, 48), nn.Tanh(), nn.Linear(48, 1)), Fields(960, seed=3))
