"""Deep and narrow residual network for a toy regression."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        return x + 0.2 * torch.relu(self.layer(self.norm(x)))


torch.manual_seed(0)
x = torch.randn(2000, 8)
y = torch.sin(2 * x[:, :1]) + x[:, 1:2] * x[:, 2:3]
model = nn.Sequential(nn.Linear(8, 32), *[Block(32) for _ in range(24)], nn.Linear(32, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, fused=True)

for step in range(250):
    index = torch.randint(0, 2000, (32,))
    loss = nn.functional.mse_loss(model(x[index]), y[index])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
