"""A dataset that gives its samples on the GPU, read by two workers."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

device = torch.device("cuda")


class Points(Dataset):
    def __init__(self, n):
        self.points = torch.randn(n, 8)

    def __len__(self):
        return len(self.points)

    def __getitem__(self, index):
        point = self.points[index].to(device)
        return point, point.sum()


net = nn.Linear(8, 1).to(device)
loader = DataLoader(Points(128), batch_size=16, num_workers=2)
for x, y in loader:
    loss = (net(x).squeeze(1) - y).pow(2).mean()
    loss.backward()
