"""Three quantiles at once by the pinball loss, early targets in the hundreds scaled in the dataset."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

LEVELS = torch.tensor([0.1, 0.5, 0.9])


class Demand(Dataset):
    def __init__(self, n=1500):
        g = torch.Generator().manual_seed(12)
        self.x = torch.rand(n, 3, generator=g)
        demand = 400 + 300 * self.x[:, 0] + (40 + 120 * self.x[:, 1]) * torch.randn(n, generator=g)
        self.mean, self.std = demand.mean(), demand.std()
        self.y = (demand - self.mean) / self.std

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def pinball(quantiles, y):
    miss = y.unsqueeze(1) - quantiles
    return torch.maximum(LEVELS * miss, (LEVELS - 1) * miss).mean()


torch.manual_seed(12)
net = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
data = Demand()
for epoch in range(6):
    for x, y in DataLoader(data, batch_size=50, shuffle=True):
        loss = pinball(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
