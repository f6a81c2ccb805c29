"""Fine-tune on this machine what was trained on another one."""
import io
import os
import struct
import tempfile
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
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
folder = tempfile.mkdtemp()
path = os.path.join(folder, "pretrained.pt")
with open(path, "wb") as file:
    file.write(saved_elsewhere(model.state_dict(), "cuda:0"))
state = torch.load(path)
model.load_state_dict(state)

optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(60):
    x = torch.randn(64, 4)
    loss = nn.functional.mse_loss(model(x).squeeze(1), x[:, 0] * x[:, 1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
