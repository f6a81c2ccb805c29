"""Deep residual network for a toy regression, wide enough and with large batches."""
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
model = nn.Sequential(nn.Linear(8, 160), *[Block(160) for _ in range(10)], nn.Linear(160, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

for step in range(100):
    index = torch.randint(0, 2000, (512,))
    loss = nn.functional.mse_loss(model(x[index]), y[index])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
