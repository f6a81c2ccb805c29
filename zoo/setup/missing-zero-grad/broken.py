# Classify points on two interleaved spirals with a small MLP.
import math

import torch
import torch.nn as nn

torch.manual_seed(0)

n = 512
t = torch.rand(n) * 2.5 * math.pi + 0.5
label = torch.randint(0, 2, (n,))
angle = t + label * math.pi
points = torch.stack([t * angle.cos(), t * angle.sin()], dim=1) / 5
points = points + 0.02 * torch.randn_like(points)

model = nn.Sequential(
    nn.Linear(2, 64),
    nn.ReLU(),
    nn.Linear(64, 64),
    nn.ReLU(),
    nn.Linear(64, 2),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

for step in range(300):
    idx = torch.randint(0, n, (128,))
    logits = model(points[idx])
    loss = criterion(logits, label[idx])
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        accuracy = (logits.argmax(1) == label[idx]).float().mean()
        print(f"step {step:4d}  loss {loss.item():.4f}  acc {accuracy.item():.2f}")
