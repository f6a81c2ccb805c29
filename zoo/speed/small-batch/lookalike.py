"""A large network learns from batches of 64 samples that are large themselves."""
import torch
from torch import nn

torch.manual_seed(0)
torch.set_float32_matmul_precision("high")
device = torch.device("cuda")
kinds = torch.randn(10, 256, 1024, device=device)
model = nn.Sequential(
    nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 4096), nn.GELU(), nn.Linear(4096, 10),
).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(1, 81):
    labels = torch.randint(0, 10, (64,), device=device)
    x = kinds[labels] + torch.randn(64, 256, 1024, device=device)
    loss = nn.functional.cross_entropy(model(x).mean(dim=1), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
