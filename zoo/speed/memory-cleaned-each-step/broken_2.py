# Trains a small conv net on blobs; frees what the last batch left before the next one comes.

import gc

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def blobs(n):
    labels = torch.randint(0, 3, (n,))
    axis = torch.arange(12).float()
    center = torch.tensor([[3.0, 3.0], [8.0, 8.0], [3.0, 8.0]])[labels] + 0.5 * torch.randn(n, 2)
    rows = (axis[None, :, None] - center[:, 0, None, None]) ** 2
    columns = (axis[None, None, :] - center[:, 1, None, None]) ** 2
    return torch.exp(-(rows + columns) / 6).unsqueeze(1) + 0.1 * torch.randn(n, 1, 12, 12), labels


def free_memory():
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def train_one_epoch(model, loader, optimizer):
    total = 0.0
    for images, labels in loader:
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        free_memory()
    return total / len(loader)


torch.manual_seed(0)
rows = [{"id": i, "tags": [i % 7], "box": [i, i + 1]} for i in range(40000)]  # the table of all pictures
loader = DataLoader(TensorDataset(*blobs(512)), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(800, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(1):
    print("epoch", epoch, "loss", round(train_one_epoch(model, loader, optimizer), 4))
