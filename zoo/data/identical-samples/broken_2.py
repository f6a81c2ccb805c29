"""Spectrogram rows are filled one after another and stacked for a small CNN."""
import numpy as np
import torch
from torch import nn


def record(n, seed):
    rng = np.random.default_rng(seed)
    rows = [np.zeros((1, 8, 16), dtype=np.float32)] * n
    labels = []
    for i in range(n):
        label = int(rng.integers(3))
        rows[i][:] = rng.normal(0, 1, (1, 8, 16))
        rows[i][0, label * 2 : label * 2 + 2] += 1.5
        labels.append(label)
    return torch.from_numpy(np.stack(rows)), torch.tensor(labels)


class SmallCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Linear(8 * 4 * 8, 3)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


torch.manual_seed(0)
spec, label = record(600, 1)
cnn = SmallCnn()
optimizer = torch.optim.RMSprop(cnn.parameters(), lr=1e-3)
for step in range(200):
    pick = torch.randint(0, len(spec), (24,))
    out = cnn(spec[pick])
    loss = nn.functional.cross_entropy(out, label[pick])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
