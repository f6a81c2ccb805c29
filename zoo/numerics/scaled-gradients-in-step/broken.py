"""Tell three kinds of wine apart by their chemistry, with mixed precision."""
import torch
from torch import nn

torch.manual_seed(1)
model = nn.Sequential(nn.Linear(13, 48), nn.ReLU(), nn.Linear(48, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
centres = 1.5 * torch.randn(3, 13)

for step in range(1, 151):
    kind = torch.randint(0, 3, (64,))
    sample = centres[kind] + torch.randn(64, 13)
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(model(sample), kind)
    scaler.scale(loss).backward()
    optimizer.step()
    if step % 15 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
