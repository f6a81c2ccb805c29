"""Keep the best weights of a training, with their score."""
import os
import tempfile

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
scores = []

folder = tempfile.mkdtemp()
path = os.path.join(folder, "best.pt")
for epoch in range(4):
    for step in range(15):
        x = torch.tensor(rng.normal(size=(64, 4)), dtype=torch.float32)
        y = (x[:, 0] + x[:, 1] > 0).long()
        logits = model(x)
        loss = nn.functional.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scores.append((logits.argmax(1) == y).float().mean().item())
    torch.save({"model": model.state_dict(), "score": np.mean(scores[-15:])}, path)
best = torch.load(path)
model.load_state_dict(best["model"])
print("score", best["score"])
