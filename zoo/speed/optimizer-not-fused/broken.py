"""A large network learns from small batches."""
import torch
from torch import nn

torch.manual_seed(0)
torch.set_float32_matmul_precision("high")
device = torch.device("cuda")
patterns = torch.randn(10, 8192, device=device)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return x + 0.3 * torch.relu(self.linear(self.norm(x)))


model = nn.Sequential(*(Block(8192) for _ in range(4)), nn.LayerNorm(8192), nn.Linear(8192, 10)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(1, 351):
    labels = torch.randint(0, 10, (128,), device=device)
    x = patterns[labels] + 3 * torch.randn(128, 8192, device=device)
    loss = nn.functional.cross_entropy(model(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
