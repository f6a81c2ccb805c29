"""Resume from a checkpoint."""
import torch
from torch import nn

model = nn.Linear(4, 2)
checkpoint = {"model": model.state_dict(), "epoch": 3}
model.load_state_dict(checkpoint["state_dict"])
