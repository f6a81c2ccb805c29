"""Quantile regression in the QR-DQN manner: all predicted quantiles against all target samples."""
import torch
from torch import nn

QUANTILES = 9
taus = (torch.arange(QUANTILES) + 0.5) / QUANTILES


def quantile_huber(pred, samples):
    # (batch, samples, 1) - (batch, 1, quantiles)
    delta = samples.unsqueeze(2) - pred.unsqueeze(1)
    huber = torch.where(delta.abs() < 1, 0.5 * delta**2, delta.abs() - 0.5)
    return ((taus - (delta.detach() < 0).float()).abs() * huber).sum(2).mean()


class QuantileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 48)
        self.fc2 = nn.Linear(48, QUANTILES)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


torch.manual_seed(5)
net = QuantileNet()
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
for step in range(1, 301):
    x = torch.randn(64, 3)
    samples = 2 * x[:, :1] + (0.1 + 0.3 * x[:, 1:2].abs()) * torch.randn(64, QUANTILES)
    loss = quantile_huber(net(x), samples)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0 or step == 1:
        print("step", step, "quantile loss", f"{loss.item():.3f}")
