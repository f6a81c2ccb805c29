"""A wide network learns to tell noisy patterns apart."""
import torch
from torch import nn

torch.manual_seed(0)
torch.set_float32_matmul_precision("high")
device = torch.device("cuda")
patterns = torch.randn(10, 2048, device=device)

model = nn.Sequential(
    nn.Linear(2048, 4096), nn.GELU(),
    nn.Linear(4096, 4096), nn.GELU(),
    nn.Linear(4096, 4096), nn.GELU(),
    nn.Linear(4096, 10),
).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(1, 301):
    labels = torch.randint(0, 10, (4096,), device=device)
    x = patterns[labels] + torch.randn(4096, 2048, device=device)
    loss = nn.functional.cross_entropy(model(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
