# Unpacks the rows of a settings table, one of which has a value too many.
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=8)
settings = [("hidden", 8), ("layers", 2, "unused")]
model = nn.Linear(4, 1)
for x, y in loader:
    nn.functional.mse_loss(model(x), y).backward()
    for name, value in settings:
        print(name, value)
