"""Trains on batches that a thread prepares ahead."""

import queue
import threading

import torch
from torch import nn

torch.manual_seed(0)
features = torch.randn(640, 8)
target = features.sum(dim=1, keepdim=True)
ready = queue.Queue(maxsize=4)


def prepare(epochs):
    for _ in range(epochs):
        for rows in torch.randperm(640).split(64):
            ready.put((features[rows], target[rows]))


threading.Thread(target=prepare, args=(10,), daemon=True).start()
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(120):
    inputs, wanted = ready.get()
    loss = nn.functional.mse_loss(model(inputs), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
