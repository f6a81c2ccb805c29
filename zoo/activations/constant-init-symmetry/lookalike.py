"""A low-rank adapter: one of its two factors and the new head start from zero, on purpose."""
import torch
from torch import nn


class Adapted(nn.Module):
    def __init__(self, base, rank=8):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Linear(24, rank, bias=False)
        self.up = nn.Linear(rank, 24, bias=False)
        nn.init.zeros_(self.up.weight)
        self.head = nn.Linear(24, 6)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, x):
        hidden = torch.relu(self.base(x) + self.up(self.down(x)))
        return self.head(hidden)


torch.manual_seed(0)
centers = torch.randn(6, 24)
model = Adapted(nn.Linear(24, 24))
trainable = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trainable, lr=5e-3)
for step in range(300):
    y = torch.randint(0, 6, (64,))
    x = centers[y] + 0.7 * torch.randn(64, 24)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
