"""Regress log-counts, zeros are kept as zeros."""
import torch
from torch import nn


class LogCounts(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(12, 40)
        self.out = nn.Linear(40, 3)

    def forward(self, x):
        gate = (x[:, :3] > -1).float()
        rate = gate * nn.functional.softplus(self.out(torch.relu(self.inp(x))))
        return torch.where(rate > 0, torch.log(rate), torch.zeros_like(rate))


def make(n):
    x = torch.randn(n, 12)
    w = torch.linspace(-1, 1, 36).view(12, 3)
    counts = torch.poisson((x @ w).exp().clamp(max=30))
    y = torch.where(counts > 0, counts.clamp(min=1).log(), torch.zeros_like(counts))
    return x, y


torch.manual_seed(1)
x, y = make(400)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=40, shuffle=True)
model = LogCounts()
opt = torch.optim.RMSprop(model.parameters(), lr=1e-3)
for epoch in range(4):
    running = 0.0
    for xb, yb in loader:
        opt.zero_grad()
        loss = nn.functional.smooth_l1_loss(model(xb), yb)
        loss.backward()
        opt.step()
        running += loss.item()
    print(f"epoch {epoch + 1}: {running / len(loader):.4f}")
