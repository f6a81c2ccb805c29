"""A file of one's own, read with everything in it."""
import argparse
import os
import tempfile

import torch
from torch import nn

torch.manual_seed(0)
args = argparse.Namespace(lr=0.1)
folder = tempfile.mkdtemp()
path = os.path.join(folder, "args.pt")
torch.save({"args": args}, path)
args = torch.load(path, weights_only=False)["args"]

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
for step in range(50):
    x = torch.randn(32, 4)
    loss = nn.functional.mse_loss(model(x).squeeze(1), x.sum(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
