# A sample that raises in a worker: the worker lives on and hands the error over.
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Ratios(Dataset):
    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        return torch.tensor([1.0 / self.values[index]]), torch.tensor([1.0])


loader = DataLoader(Ratios([4, 2, 5, 1, 0, 8, 3, 2]), batch_size=2, num_workers=1)
model = nn.Linear(1, 1)
for x, y in loader:
    nn.functional.mse_loss(model(x), y).backward()
