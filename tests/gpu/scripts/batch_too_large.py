"""A deep residual MLP with a batch that the device has no room for."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self, width=2048, depth=12):
        super().__init__()
        self.stem = nn.Linear(64, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


torch.manual_seed(0)
device = torch.device("cuda")
torch.cuda.set_per_process_memory_fraction(0.2)
batch_size = 65536
net = Net().to(device)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
for step in range(3):
    x = torch.randn(batch_size, 64, device=device)
    y = torch.randn(batch_size, 1, device=device)
    loss = F.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, torch.cuda.max_memory_allocated())
