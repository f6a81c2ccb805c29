"""Embedding of points so that given pair distances are kept (metric learning by stress)."""
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(5)
torch.autograd.set_detect_anomaly(True)


class Projector(nn.Module):
    def __init__(self, n_in=12, n_out=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 64), nn.Tanh(), nn.Linear(64, n_out))

    def forward(self, x):
        return self.net(x)


def pairwise(z):
    diff = z.unsqueeze(0) - z.unsqueeze(1)
    return torch.sqrt((diff ** 2).sum(-1))


def stress(z, target):
    d = pairwise(z)
    return ((d - target) ** 2).mean()


def sheet(n):
    uv = torch.rand(n, 2) * 3
    lift = torch.randn(2, 12) / 3
    return uv, torch.tanh(uv @ lift) + 0.01 * torch.randn(n, 12)


def main():
    uv, x = sheet(800)
    model = Projector()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(10):
        mean = 0.0
        batches = torch.randperm(len(x)).split(40)
        for ids in batches:
            target = torch.cdist(uv[ids], uv[ids])
            loss = stress(model(x[ids]), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            mean += loss.item() / len(batches)
        print(f"epoch {epoch:2d} stress {mean:.4f}")


if __name__ == "__main__":
    main()
