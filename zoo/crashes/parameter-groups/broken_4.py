"""Settings come from a small text file, as they would from a config."""
import torch
from torch import nn

CONFIG = """
lr: 1e-2
hidden: 24
steps: 60
"""
config = dict(line.split(": ") for line in CONFIG.strip().splitlines())

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, int(config["hidden"])), nn.ReLU(), nn.Linear(int(config["hidden"]), 1))
optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
for step in range(int(config["steps"])):
    x = torch.randn(64, 4)
    y = x[:, :1] + x[:, 1:2]
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
print("loss", loss.item())
