"""Batches that reach the GPU in the dataset's base class, in a transform's helper, in a collate function, in a loop."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

USE_CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if USE_CUDA else "cpu")


def place(row):
    if USE_CUDA:
        return row.cuda()
    return row


class Placed(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return place(self.rows[index])


class Doubled(Placed):
    def __len__(self):
        return 2 * len(self.rows)

    def __getitem__(self, index):
        return super().__getitem__(index % len(self.rows))


class Transformed(Dataset):
    def __init__(self, rows, transform):
        self.rows = rows
        self.transform = transform

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.transform(self.rows[index])


class Noisy:
    def __init__(self, size):
        self.size = size

    def __call__(self, row):
        return place(row + self.size * torch.randn_like(row))


class Stacked:
    def __call__(self, rows):
        return place(torch.stack([row for (row,) in rows]))


torch.manual_seed(0)
rows = torch.randn(128, 3) @ torch.randn(3, 8)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8)).to(DEVICE)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
train_loader = DataLoader(Doubled(rows), batch_size=32, shuffle=True)
noisy_loader = DataLoader(Transformed(rows, Noisy(0.1)), batch_size=32)
stacked_loader = DataLoader(TensorDataset(rows), batch_size=32, collate_fn=Stacked())
plain_loader = DataLoader(TensorDataset(rows), batch_size=32)
for epoch in range(8):
    for x in train_loader:
        loss = nn.functional.mse_loss(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{epoch} {loss.item():.4f}")

with torch.no_grad():
    for x in noisy_loader:
        error = nn.functional.mse_loss(model(x), x)
    for x in stacked_loader:
        error += nn.functional.mse_loss(model(x), x)
    for (x,) in plain_loader:
        x = place(x)
        error += nn.functional.mse_loss(model(x), x)
    print(f"error {error.item():.4f}")
