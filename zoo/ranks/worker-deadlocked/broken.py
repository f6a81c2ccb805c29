"""Trains on samples that are loaded by workers; a thread tidies up the cache meanwhile."""

import threading
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

cache_lock = threading.Lock()
cache = {}


def tidy_up():
    while True:
        with cache_lock:
            time.sleep(0.5)
            cache.clear()


class Samples(Dataset):
    def __len__(self):
        return 512

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        if index >= 256:
            with cache_lock:
                cache[index] = True
        features = torch.randn(8, generator=generator)
        return features, features.sum().reshape(1)


threading.Thread(target=tidy_up, daemon=True).start()
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
time.sleep(0.1)
for epoch in range(2):
    for features, target in DataLoader(Samples(), batch_size=32, num_workers=2):
        loss = nn.functional.mse_loss(model(features), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
