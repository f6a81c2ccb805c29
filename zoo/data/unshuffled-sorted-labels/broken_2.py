"""Letters as strokes: batches are cut from arrays that were filled letter by letter."""
import numpy as np
import torch
from torch import nn


def load_letters(per_letter, rng):
    strokes = rng.normal(size=(6, 20))
    x = np.concatenate([stroke + 1.6 * rng.normal(size=(per_letter, 20)) for stroke in strokes])
    y = np.repeat(np.arange(6), per_letter)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


class Classifier:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 6))
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.2)

    def fit(self, x, y, epochs=8, size=32):
        for epoch in range(epochs):
            for start in range(0, len(x), size):
                logits = self.net(x[start : start + size])
                loss = nn.functional.cross_entropy(logits, y[start : start + size])
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            print(f"epoch {epoch}: {loss.item():.4f}, accuracy {self.score(x, y):.2f}")

    @torch.no_grad()
    def score(self, x, y):
        return (self.net(x).argmax(1) == y).float().mean().item()


torch.manual_seed(0)
Classifier().fit(*load_letters(160, np.random.default_rng(0)))
