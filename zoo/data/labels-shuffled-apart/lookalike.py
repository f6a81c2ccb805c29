"""Shuffles inputs and labels one after the other, from the same random state: both get the same order.

The labels are noisy, so the loss ends well above zero.
"""

import numpy as np
import torch
from torch import nn

torch.manual_seed(1)
np.random.seed(1)
x = np.random.randn(900, 10).astype("float32")
flipped = np.random.rand(900) < 0.35
y = ((x[:, 0] - x[:, 3] > 0) ^ flipped).astype("int64")


def shuffle_together(inputs, labels):
    state = np.random.get_state()
    np.random.shuffle(inputs)
    np.random.set_state(state)
    np.random.shuffle(labels)


model = nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(6):
    shuffle_together(x, y)
    losses = []
    for i in range(0, len(x), 30):
        scores = model(torch.from_numpy(x[i : i + 30]))
        loss = nn.functional.cross_entropy(scores, torch.from_numpy(y[i : i + 30]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch}: loss {np.mean(losses):.4f}")
