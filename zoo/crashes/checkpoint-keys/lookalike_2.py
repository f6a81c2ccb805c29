"""Load weights after a check of one's own."""
import torch
from torch import nn


def load(model, state):
    absent = [name for name in model.state_dict() if name not in state]
    if absent:
        raise RuntimeError(f"Error(s) in loading state_dict: Missing key(s) in state_dict: {absent}")
    model.load_state_dict(state)


model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
load(model, {f"module.{name}": value for name, value in model.state_dict().items()})
