"""Compares a model with a saved copy before it goes on, and stops where they differ."""
import torch
from torch import nn


def same_model(first, second):
    for index, (mine, other) in enumerate(zip(first.parameters(), second.parameters())):
        if mine.shape != other.shape:
            raise RuntimeError(
                f"[1]: params[{index}] in this process with sizes {list(mine.shape)} appears not to match sizes "
                "of the same param in process 0."
            )


torch.manual_seed(0)
model, saved = nn.Linear(8, 4), nn.Linear(8, 3)
same_model(model, saved)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss = model(torch.randn(16, 8)).pow(2).mean()
loss.backward()
optimizer.step()
