"""Fine-tune the upper block of a small network on a shifted task; the lower one stays as it is."""
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lower = nn.Sequential(nn.Linear(10, 48), nn.ReLU())
        self.upper = nn.Sequential(nn.Linear(48, 48), nn.ReLU())
        self.head = nn.Linear(48, 5)

    def forward(self, x):
        return self.head(self.upper(self.lower(x)))


def run(model, centers, steps, lr):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for step in range(steps):
        labels = torch.randint(0, len(centers), (32,))
        loss = F.cross_entropy(model(centers[labels] + 0.8 * torch.randn(32, 10)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"{step} {loss.item():.4f}")


torch.manual_seed(0)
model = Net()
run(model, torch.randn(5, 10), 100, lr=5e-3)

for param in model.parameters():
    param.requires_grad = False
model.upper.requires_grad = True
model.head = nn.Linear(48, 5)
run(model, torch.randn(5, 10), 200, lr=5e-3)
