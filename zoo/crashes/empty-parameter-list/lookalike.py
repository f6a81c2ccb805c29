"""A list of parameters that the user's own code finds empty."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.ReLU(), nn.Flatten())
weights = [p for p in model.parameters()]
if not weights:
    raise ValueError("optimizer got an empty parameter list")
