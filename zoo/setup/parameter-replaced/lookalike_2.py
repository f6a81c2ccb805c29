"""One inner step per task by functional_call."""
import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(100):
    amplitude, phase = 1 + torch.rand(4, 1, 1), 3 * torch.rand(4, 1, 1)
    total = 0.0
    for a, p in zip(amplitude, phase):
        x = torch.rand(10, 1) * 6 - 3
        y = a * torch.sin(x + p)
        weights = dict(model.named_parameters())
        inner = ((functional_call(model, weights, (x,)) - y) ** 2).mean()
        grads = torch.autograd.grad(inner, list(weights.values()), create_graph=True)
        fast = {k: w - 0.01 * g for (k, w), g in zip(weights.items(), grads)}
        total = total + ((functional_call(model, fast, (x,)) - y) ** 2).mean()
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
print(total.item())
