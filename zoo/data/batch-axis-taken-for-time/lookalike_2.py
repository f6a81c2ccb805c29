"""One long recording at a time, step by step, with a label for every step; then sets of points that attend."""
import torch
from torch import nn

torch.manual_seed(0)
tagger, out = nn.LSTM(3, 20), nn.Linear(20, 2)
optimizer = torch.optim.Adam([*tagger.parameters(), *out.parameters()], lr=1e-2)
for step in range(100):
    recording = torch.randn(50, 1, 3)
    rising = (recording.cumsum(0)[:, 0, 0] > 0).long()
    states, _ = tagger(recording)
    loss = nn.functional.cross_entropy(out(states[:, 0]), rising)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("tagger", loss.item())


class Crowd(nn.Module):
    """The points of a set look at each other; sets lie side by side on the second axis."""

    def __init__(self, width=24):
        super().__init__()
        self.lift = nn.Linear(2, width)
        self.look = nn.MultiheadAttention(width, 4)
        self.value = nn.Linear(width, 1)

    def forward(self, points):
        x = self.lift(points)
        x = x + self.look(x, x, x)[0]
        return self.value(x.mean(0)).squeeze(1)


crowd = Crowd()
optimizer = torch.optim.Adam(crowd.parameters(), lr=5e-3)
for step in range(100):
    points = torch.randn(12, 32, 2)
    loss = nn.functional.mse_loss(crowd(points), points[..., 0].mean(0) * 3)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("crowd", loss.item())
