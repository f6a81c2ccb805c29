"""Scripts whose data is worth looking at: pictures, tokens, series, and everything a SummaryWriter takes."""

PICTURES = """
import math
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
labels = torch.randint(0, 4, (320,))
grid = torch.linspace(-1, 1, 80)
phase = torch.rand(320, 1, 1, 1) * 6
angles = (0, 0.8, 1.6, 2.4)
waves = torch.stack([torch.cos(3 * (math.cos(a) * grid[:, None] + math.sin(a) * grid)) for a in angles])
images = (waves[labels][:, None] * torch.tensor([1.0, 0.6, 0.3]).view(1, 3, 1, 1) * torch.cos(phase) + 1) / 2
images = images + 0.1 * torch.randn(320, 3, 80, 80)
loader = DataLoader(TensorDataset(images, labels), batch_size=32, shuffle=True)
model = nn.Sequential(
    nn.Conv2d(3, 8, 5, stride=3), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 4)
)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(4):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""

TOKENS = """
import torch
from torch import nn

torch.manual_seed(0)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(200, 16, padding_idx=0)
        self.mix = nn.GRU(16, 32, batch_first=True)
        self.out = nn.Linear(32, 200)

    def forward(self, input_ids):
        return self.out(self.mix(self.embed(input_ids))[0])


model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(40):
    tokens = torch.randint(1, 200, (8, 1)) + torch.arange(40) * torch.randint(1, 3, (8, 1))
    tokens = tokens % 199 + 1
    lengths = torch.randint(12, 40, (8, 1))
    tokens = torch.where(torch.arange(40) < lengths, tokens, 0)
    x, y = tokens[:, :-1], tokens[:, 1:]
    loss = nn.functional.cross_entropy(model(x).reshape(-1, 200), y.reshape(-1), ignore_index=0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

SERIES = """
import torch
from torch import nn

torch.manual_seed(0)


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.read = nn.LSTM(3, 16, batch_first=True)
        self.out = nn.Linear(16, 2)

    def forward(self, series):
        return self.out(self.read(series)[0][:, -1])


model = Forecast()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
time = torch.linspace(0, 12, 100)
for step in range(40):
    x = torch.sin(time[None, :, None] * torch.rand(16, 1, 3) + 6 * torch.rand(16, 1, 3))
    loss = nn.functional.mse_loss(model(x[:, :-1]), x[:, -1, :2])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

GAPS = """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
for step in range(12):
    x, y = torch.randn(16, 6), torch.randint(0, 2, (16,))
    x[2, 3] = float("nan") if step == 0 else 1.0
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

FALLEN = """
import torch
from torch import nn

model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(17, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
loss = model(torch.randn(8, 10)).sum()
loss.backward()
optimizer.step()
"""

NOTES = """# Step %d

A *slow* run: `lr` is **0.01**.

- one
- two

| a | b |
|---|---|
| 1 | <script>alert(1)</script> |

[page](https://example.org) [bad](javascript:alert(1))
"""

LOGGED = """
import os

import torch
from torch import nn
from torch_debugger import SummaryWriter

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
writer = SummaryWriter(os.environ["LOGGED_TO"])
grid = torch.linspace(-1, 1, 48)
NOTES = open(os.environ["NOTES"]).read()
for step in range(60):
    x = torch.randn(32, 12)
    y = (x.sum(dim=1) > 0).long()
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        rings = torch.cos((grid[:, None] ** 2 + grid**2) * (4 + step / 4)) / 2 + 0.5
        writer.add_image("samples/rings", torch.stack([rings, 1 - rings, rings * step / 60]), step)
        writer.add_images("samples/several", torch.rand(4, 3, 8, 8), step)
        writer.add_histogram("weights/first", model[0].weight, step)
        figure = pyplot.figure(figsize=(4, 3))
        pyplot.plot(x[:, 0], x[:, 1], "o")
        writer.add_figure("figures/scatter", figure, step)
        writer.add_text("notes", NOTES % step, step)
        writer.add_audio("sounds/tone", torch.sin(torch.arange(4000) * (0.05 + step / 600))[None], step, 8000)
    if step == 0:
        writer.add_image("<img src=x onerror=alert(1)>/" + "long" * 60, rings[None], step)
writer.close()
"""
