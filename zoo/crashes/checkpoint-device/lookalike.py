"""Weights from another machine, put where this one can use them."""
import io
import struct
import zipfile

import torch
from torch import nn


def saved_elsewhere(state, device):
    """The bytes of a checkpoint as another machine writes them."""
    here, there = io.BytesIO(), io.BytesIO()
    torch.save(state, here)
    tag = b"X" + struct.pack("<I", len(device)) + device.encode()
    with zipfile.ZipFile(here) as old, zipfile.ZipFile(there, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"X\x03\x00\x00\x00cpu", tag))
    return there.getvalue()


torch.manual_seed(0)
model = nn.Linear(4, 1)
file = io.BytesIO(saved_elsewhere(model.state_dict(), "cuda:1"))
model.load_state_dict(torch.load(file, map_location=lambda storage, location: storage))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(50):
    x = torch.randn(32, 4)
    loss = nn.functional.mse_loss(model(x).squeeze(1), x.sum(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
