"""A search over learning rates, one process for each."""

import os
import resource
import tempfile

import torch
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn


def search(index, rates, folder):
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
    torch.manual_seed(0)
    x = torch.randn(512, 32)
    y = x @ torch.randn(32, 1)
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=rates[index])
    for _ in range(2500):
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with open(os.path.join(folder, f"{index}.txt"), "w") as results:
        results.write(f"{rates[index]} {loss.item():.4f}")


if __name__ == "__main__":
    folder = tempfile.mkdtemp()
    rates = [0.01, 0.03]
    mp.spawn(search, args=(rates, folder), nprocs=len(rates))
    for name in sorted(os.listdir(folder)):
        print(open(os.path.join(folder, name)).read())
