"""Tell how wide a spot in a small picture is; training and validation pictures are drawn apart."""
import argparse
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def spots(count, side):
    kind = torch.randint(0, 4, (count,))
    centre = torch.randint(2, side - 2, (count, 2, 1, 1)).float()
    line = torch.arange(side).float() ** 1.1
    distance = (line[:, None] - centre[:, 0]) ** 2 + 1.7 * (line[None, :] - centre[:, 1]) ** 2
    return torch.exp(-distance / (2 * (1 + kind[:, None, None]) ** 2)), kind


parser = argparse.ArgumentParser()
parser.add_argument("--side", type=int, default=14)
args = parser.parse_args()

torch.manual_seed(4)
train_loader = DataLoader(TensorDataset(*spots(400, args.side)), batch_size=40, shuffle=True)
valid_loader = DataLoader(TensorDataset(*spots(80, args.side)), batch_size=40)
model = nn.Sequential(nn.Flatten(), nn.Linear(args.side ** 2, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    model.train()
    for x, y in train_loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in valid_loader)
    print(epoch, loss.item(), right / 80)
