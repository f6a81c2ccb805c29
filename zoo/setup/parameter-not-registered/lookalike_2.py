"""Adversarial training: the module keeps a perturbation that follows its own rule, not the optimizer's."""
import torch
from torch import nn


class Robust(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
        self.delta = torch.zeros(8, requires_grad=True)

    def forward(self, x):
        return self.net(x + self.delta)

    @torch.no_grad()
    def climb(self):
        self.delta += 0.02 * self.delta.grad.sign()
        self.delta.clamp_(-0.1, 0.1)
        self.delta.grad.zero_()


torch.manual_seed(3)
model = Robust()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(200):
    x = torch.randn(32, 8)
    labels = (x[:, 0] + x[:, 1] > 0).long()
    loss = nn.functional.cross_entropy(model(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.climb()
print(loss.item())
