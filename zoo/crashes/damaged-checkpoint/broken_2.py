"""Train and continue with the best weights so far."""
import os
import tempfile

import torch
from torch import nn

torch.manual_seed(0)
os.chdir(tempfile.mkdtemp())
model = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(60):
    x = torch.randn(64, 4)
    loss = nn.functional.mse_loss(model(x).squeeze(1), x[:, 0] * x[:, 1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch.save(model.state_dict(), "model_best.pth")

best = torch.load("model_best.pt")
model.load_state_dict(best)
print(model(torch.zeros(1, 4)))
