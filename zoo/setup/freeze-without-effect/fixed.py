"""Train a new head on a pretrained encoder that should keep what it knows."""
import torch
from torch import nn
import torch.nn.functional as F


class Classifier(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(14, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        return self.head(self.encoder(x))


def fit(model, centers, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        labels = torch.randint(0, len(centers), (40,))
        loss = F.cross_entropy(model(centers[labels] + torch.randn(40, 14)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(4)
    first, second = 1.5 * torch.randn(8, 14), 1.5 * torch.randn(3, 14)
    model = Classifier(8)
    print("pretraining", fit(model, first, 150))
    old_head = model.head
    model.encoder.requires_grad_(False)
    model.head = nn.Linear(32, 3)
    print("new task", fit(model, second, 200))
    model.head = old_head
    labels = torch.randint(0, 8, (400,))
    with torch.no_grad():
        print("old task", F.cross_entropy(model(first[labels] + torch.randn(400, 14)), labels).item())


main()
