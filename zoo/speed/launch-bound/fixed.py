"""A deep and narrow network learns a wave."""
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda")


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + 0.2 * self.down(nn.functional.gelu(self.up(self.norm(x))))


class Wave(nn.Module):
    def __init__(self, width=64, depth=24):
        super().__init__()
        self.stem = nn.Linear(1, width)
        self.blocks = nn.Sequential(*(Block(width) for _ in range(depth)))
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


model = Wave().to(device)
model = torch.cuda.make_graphed_callables(model, (torch.rand(64, 1, device=device),))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
for step in range(120):
    x = torch.rand(64, 1, device=device) * 6 - 3
    y = torch.sin(2 * x)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        print(f"step {step + 1}: loss {loss.item():.4f}")
