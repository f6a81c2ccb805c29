import torch
from torch import nn


class Monitor:
    outputs = []

    @classmethod
    def watch(cls, output):
        cls.outputs.append(output.detach())

    @classmethod
    def mean(cls):
        return sum(output.mean().item() for output in cls.outputs) / len(cls.outputs)


def batches(count):
    generator = torch.Generator().manual_seed(2)
    for _ in range(count):
        points = torch.randn(64, 2, generator=generator)
        yield points, (points.prod(dim=1) > 0).float()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for number, (points, labels) in enumerate(batches(120)):
    logits = model(points).squeeze(1)
    loss = nn.functional.binary_cross_entropy_with_logits(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    Monitor.watch(logits)
    if number % 40 == 39:
        print(f"{loss.item():.3f} {Monitor.mean():.3f}")
