"""Tell rare events from noise in half precision: most of the gradient is zero, as ReLU and masks make it."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
pattern = torch.randn(24)

for step in range(1, 201):
    event = (torch.rand(128) < 0.1).long()
    x = torch.randn(128, 24) + 1.5 * event[:, None] * pattern
    counts = torch.rand(128) < 0.5
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        each = nn.functional.cross_entropy(model(x), event, reduction="none")
        loss = (each * counts).sum() / counts.sum()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
