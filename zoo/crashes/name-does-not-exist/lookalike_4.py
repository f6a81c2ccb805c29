"""Look for a layer by its name."""
import torch
from torch import nn


def layer(model, name):
    for path, module in model.named_modules():
        if path == name:
            return module
    raise AttributeError(f"'Sequential' object has no attribute '{name}'")


model = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
print(layer(model, "fc1")(torch.randn(2, 4)))
