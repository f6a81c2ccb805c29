"""Self-attention with a residual connection."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.attention = nn.MultiheadAttention(size, 2, batch_first=True)
        self.norm = nn.LayerNorm(size)
        self.fc = nn.Linear(size, 1)

    def forward(self, x):
        x = self.norm(x + self.attention(x, x, x))
        return self.fc(x.mean(dim=1))


torch.manual_seed(0)
block = Block(8)
optimizer = torch.optim.Adam(block.parameters(), lr=0.01)
for step in range(60):
    x = torch.randn(32, 5, 8)
    y = x[:, 0, :1]
    loss = nn.functional.mse_loss(block(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item())
