"""A deep residual network on two GPUs; a machine that has only one lets it stand in for both."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + 0.2 * self.down(torch.relu(self.up(self.norm(x))))


class Network(nn.Module):
    def __init__(self, width=512, depth=16):
        super().__init__()
        self.stem = nn.Linear(64, width)
        self.blocks = nn.Sequential(*(Block(width) for _ in range(depth)))
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


torch.manual_seed(0)
kinds = torch.randn(10, 64, device="cuda")
devices = [0, 1] if torch.cuda.device_count() > 1 else [0, 0]
model = nn.DataParallel(Network().cuda(), device_ids=devices)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)

for step in range(250):
    labels = torch.randint(0, 10, (1024,), device="cuda")
    x = kinds[labels] + torch.randn(1024, 64, device="cuda")
    loss = nn.functional.cross_entropy(model(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(f"step {step + 1}: loss {loss.item():.4f}")
