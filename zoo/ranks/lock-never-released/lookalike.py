"""Trains, and waits now and then for a thread that works out a metric, which takes its time."""

import threading
import time

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
features = torch.randn(512, 8)
target = features.sum(dim=1, keepdim=True)


def slow_metric(done):
    began, total = time.perf_counter(), 0
    while time.perf_counter() - began < 7:
        total += sum(range(1000))
    done.set()


for step in range(200):
    rows = torch.randint(0, 512, (64,))
    loss = nn.functional.mse_loss(model(features[rows]), target[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 100:
        done = threading.Event()
        threading.Thread(target=slow_metric, args=(done,)).start()
        done.wait()
