"""Start from the weights that came with the repository."""
import os
import tempfile

import torch
from torch import nn

folder = tempfile.mkdtemp()
path = os.path.join(folder, "pretrained.bin")
with open(path, "w") as file:
    file.write("version https://git-lfs.github.com/spec/v1\n")
    file.write("oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n")
    file.write("size 1728\n")

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(60):
    x = torch.randn(64, 4)
    loss = nn.functional.mse_loss(model(x).squeeze(1), x[:, 0] * x[:, 1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
