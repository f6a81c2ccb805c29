"""Refuse weights that were made for another kind of machine."""
import io

import torch
from torch import nn


def place(storage, location):
    raise RuntimeError("Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.")


file = io.BytesIO()
torch.save(nn.Linear(4, 2).state_dict(), file)
file.seek(0)
print(torch.load(file, map_location=place))
