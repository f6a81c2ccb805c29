"""A small denoiser: trained, measured on many batches, and asked for samples by many small steps."""
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"


class Sampler:
    def __init__(self, net, steps=400):
        self.net = net
        self.steps = steps

    def draw(self, count):
        z = torch.randn(count, 8, device=device)
        for _ in range(self.steps):
            z = z - 0.002 * self.net(z) + 0.01 * torch.randn_like(z)
        return z


def evaluate(net, data):
    total, batches = 0.0, 0
    while batches < 400:
        x = data[torch.randint(0, 256, (32,))].to(device)
        total += (net(x) - x).abs().mean().item()
        batches += 1
    return total / batches


torch.manual_seed(0)
data = torch.randn(256, 3) @ torch.randn(3, 8)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8)).to(device)
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(60):
    x = data[torch.randint(0, 256, (32,))].to(device)
    loss = nn.functional.mse_loss(net(x + 0.1 * torch.randn_like(x)), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")

with torch.no_grad():
    print(f"error {evaluate(net, data):.4f}")
    samples = Sampler(net).draw(64)
    noise = torch.randn(64, 8)
    print(f"from noise {net(noise).std().item():.3f}, by steps {samples.std().item():.3f}")
