"""Trains on samples that workers load; some of them take a few seconds, under a lock of the worker's own."""

import threading
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    def __init__(self):
        self.lock = threading.Lock()

    def __len__(self):
        return 512

    def __getitem__(self, index):
        with self.lock:
            if index == 100:
                time.sleep(2)
            generator = torch.Generator().manual_seed(index)
            features = torch.randn(8, generator=generator)
            return features, features.sum().reshape(1)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    for features, target in DataLoader(Samples(), batch_size=32, num_workers=2):
        loss = nn.functional.mse_loss(model(features), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
