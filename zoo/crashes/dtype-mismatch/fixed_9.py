"""Spam or not, from counts of words."""
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def mails(n=400):
    rng = random.Random(10)
    counts, labels = [], []
    for _ in range(n):
        label = rng.randrange(2)
        counts.append([float(rng.randint(0, 3) + 3 * label * (k < 2)) for k in range(6)])
        labels.append([label])
    return counts, labels


def main():
    torch.manual_seed(10)
    counts, labels = mails()
    x_all, spam = torch.tensor(counts), torch.tensor(labels)
    loader = DataLoader(TensorDataset(x_all, spam), batch_size=40, shuffle=True)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(6):
        for x, spam in loader:
            loss = criterion(model(x), spam.float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} bce {loss.item():.4f}")


main()
