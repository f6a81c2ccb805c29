"""Evolution strategies: the gradient is estimated from random perturbations and set by hand."""
import torch
from torch import nn

torch.manual_seed(5)
policy = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-2)
inputs = torch.randn(64, 3)
wanted = inputs.sum(dim=1, keepdim=True).sin()


@torch.no_grad()
def cost():
    return (policy(inputs) - wanted).square().mean().item()


@torch.no_grad()
def estimate(pairs=16, sigma=0.1):
    for p in policy.parameters():
        p.grad = torch.zeros_like(p)
    for _ in range(pairs):
        noise = [sigma * torch.randn_like(p) for p in policy.parameters()]
        for p, n in zip(policy.parameters(), noise):
            p.add_(n)
        up = cost()
        for p, n in zip(policy.parameters(), noise):
            p.sub_(2 * n)
        down = cost()
        for p, n in zip(policy.parameters(), noise):
            p.add_(n)
            p.grad.add_(n * (up - down) / (2 * sigma**2 * pairs))


print("before", cost())
for generation in range(60):
    estimate()
    optimizer.step()
print("after", cost())
