"""A network in full float32 whose time goes to what lies between its small layers."""
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda")
patterns = torch.randn(10, 64, device=device)
model = nn.Sequential(nn.Linear(64, 32), nn.Softplus(), nn.Linear(32, 10)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(1, 151):
    labels = torch.randint(0, 10, (262144,), device=device)
    x = patterns[labels] + torch.randn(262144, 64, device=device)
    x = torch.sin(x) + torch.exp(-(x ** 2)) + torch.tanh(x)
    loss = nn.functional.cross_entropy(model(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
