"""A student learns the normalised features of a fixed teacher: both sides end in a LayerNorm, on purpose."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(3)
teacher = nn.Sequential(nn.Linear(10, 64), nn.Tanh(), nn.Linear(64, 8)).requires_grad_(False)
student = nn.Sequential(nn.Linear(10, 64), nn.GELU(), nn.Linear(64, 8), nn.LayerNorm(8))
optimizer = torch.optim.Adam(student.parameters(), lr=4e-3)

for step in range(250):
    x = torch.randn(64, 10)
    wanted = F.layer_norm(teacher(x), (8,))
    loss = F.mse_loss(student(x), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(f"step {step + 1}: loss {loss.item():.4f}")
