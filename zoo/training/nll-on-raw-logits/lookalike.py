"""Mixture of two experts: log-probabilities of a weighted sum of softmaxes, with an epsilon."""
import torch
import torch.nn.functional as F
from torch import nn


class Mixture(nn.Module):
    def __init__(self, features=10, classes=5):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(features, classes) for _ in range(2))
        self.gate = nn.Linear(features, 2)

    def forward(self, x):
        weights = self.gate(x).softmax(dim=-1)
        answers = torch.stack([expert(x).softmax(dim=-1) for expert in self.experts], dim=1)
        return torch.log((weights.unsqueeze(-1) * answers).sum(1) + 1e-6)


torch.manual_seed(3)
centers = torch.randn(5, 10)
model = Mixture()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(250):
    y = torch.randint(0, 5, (64,))
    x = centers[y] * torch.where(torch.rand(64, 1) < 0.5, 1.0, -1.0) + 0.4 * torch.randn(64, 10)
    loss = F.nll_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(step, round(loss.item(), 4))
