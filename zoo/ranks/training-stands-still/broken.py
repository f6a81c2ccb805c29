"""Trains, then hands the weights to another program for a report."""

import subprocess
import sys

import torch
from torch import nn

REPORT = "import sys\nwords = sys.stdin.read()\nprint(len(words))"

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
features = torch.randn(512, 8)
target = features.sum(dim=1, keepdim=True)
for step in range(150):
    rows = torch.randint(0, 512, (64,))
    loss = nn.functional.mse_loss(model(features[rows]), target[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
report = subprocess.Popen([sys.executable, "-c", REPORT], stdin=subprocess.PIPE, text=True)
report.stdin.write(" ".join(f"{weight:.3f}" for weight in model[0].weight.flatten().tolist()))
report.wait()
