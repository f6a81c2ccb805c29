"""Reads the loss of each step; the data lies on the device, which is busy all the time."""
import torch
from torch import nn

torch.manual_seed(0)
torch.set_float32_matmul_precision("high")
device = torch.device("cuda")
patterns = torch.randn(10, 1024, device=device)
model = nn.Sequential(
    nn.Linear(1024, 8192), nn.LayerNorm(8192), nn.GELU(),
    nn.Linear(8192, 8192), nn.LayerNorm(8192), nn.GELU(),
    nn.Linear(8192, 8192), nn.LayerNorm(8192), nn.GELU(),
    nn.Linear(8192, 10),
).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
losses = []
for step in range(60):
    labels = torch.randint(0, 10, (4096,), device=device)
    images = patterns[labels] + torch.randn(4096, 1024, device=device)
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"first {losses[0]:.4f}, last {losses[-1]:.4f}")
