"""Trains in a calm way: slow to begin, a pause between epochs, a program started meanwhile, a long evaluation."""

import io
import subprocess
import sys
import time

import torch
from torch import nn


def work(seconds):
    began, total = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        total += sum(range(1000))
    return total


torch.manual_seed(0)
work(7)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
features = torch.randn(512, 8)
target = features.sum(dim=1, keepdim=True)
for epoch in range(2):
    if epoch > 0:
        torch.save(model.state_dict(), io.BytesIO())
        time.sleep(7)
        subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 6: pass"], check=True)
        work(7)
    for rows in torch.randperm(512).split(16):
        loss = nn.functional.mse_loss(model(features[rows]), target[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
