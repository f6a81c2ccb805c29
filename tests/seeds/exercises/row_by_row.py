"""A training whose data are lists, made into tensors row by row, under cProfile."""

import cProfile

import torch
from torch import nn


class Rows:
    def __init__(self):
        generator = torch.Generator().manual_seed(61)
        self.numbers = torch.randn(90, 200, generator=generator).tolist()

    def __len__(self):
        return len(self.numbers)

    def __getitem__(self, index):
        return torch.tensor(self.numbers[index])


def train():
    torch.manual_seed(62)
    net = nn.Linear(200, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001)
    for _ in range(3):
        for rows in torch.utils.data.DataLoader(Rows(), batch_size=15):
            loss = nn.functional.mse_loss(net(rows), rows.sin().sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


with cProfile.Profile() as profile:
    train()
profile.dump_stats("train.prof")
print("profiled")
