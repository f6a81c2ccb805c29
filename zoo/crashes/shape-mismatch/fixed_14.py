"""Signals at three time scales; the features of all scales are looked at together."""
import torch
from torch import nn


class MultiScale(nn.Module):
    def __init__(self):
        super().__init__()
        self.fine = nn.Conv1d(2, 8, 3)
        self.middle = nn.Conv1d(2, 12, 7)
        self.coarse = nn.Conv1d(2, 16, 15)
        self.out = nn.Linear(36, 3)

    def forward(self, x):
        fine = torch.relu(self.fine(x)).mean(dim=-1)
        middle = torch.relu(self.middle(x)).mean(dim=-1)
        coarse = torch.relu(self.coarse(x)).mean(dim=-1)
        features = torch.cat([fine, middle, coarse], dim=1)
        return self.out(features)


torch.manual_seed(8)
speed = torch.tensor([0.1, 0.5, 1.6])
model = MultiScale()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(80):
    labels = torch.randint(0, 3, (32,))
    t = torch.arange(40) + 6 * torch.rand(32, 1)
    wave = torch.sin(t * speed[labels][:, None])
    x = torch.stack([wave, torch.roll(wave, 3, dims=1)], dim=1) + 0.3 * torch.randn(32, 2, 40)
    loss = nn.functional.cross_entropy(model(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f}")
