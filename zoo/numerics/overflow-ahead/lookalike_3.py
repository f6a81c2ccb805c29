"""Classify with a learning rate that warms up and weights that grow with it, in half precision."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
warmup = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.01, total_iters=150)
scaler = torch.amp.GradScaler("cpu")
centres = torch.randn(5, 16)

for step in range(1, 301):
    label = torch.randint(0, 5, (128,))
    x = centres[label] + 0.7 * torch.randn(128, 16)
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        scores = model(x)
        loss = nn.functional.cross_entropy(scores, label)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    warmup.step()
    if step % 30 == 0:
        print(f"step {step}: loss {loss.item():.4f}, scores up to {scores.abs().max().item():.1f}")
