# Checks its own settings before they are saved beside the weights.
import pickle

import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
settings = {"lr": 0.1, "schedule": lambda step: 0.1 / (step + 1)}
for name, value in settings.items():
    if callable(value):
        raise pickle.PicklingError(f"Can't pickle {name}: it is a function")
torch.save(model.state_dict(), "weights.pt")
