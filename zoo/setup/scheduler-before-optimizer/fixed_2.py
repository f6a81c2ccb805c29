"""Denoising autoencoder with a one-cycle schedule over all batches."""
import torch
from torch import nn, optim


class Denoiser(nn.Module):
    def __init__(self, size=32, code=8):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(size, 64), nn.ReLU(), nn.Linear(64, code))
        self.decode = nn.Sequential(nn.Linear(code, 64), nn.ReLU(), nn.Linear(64, size))

    def forward(self, x):
        return self.decode(self.encode(x))


def batches(count, size=32):
    basis = torch.randn(5, size)
    for _ in range(count):
        yield torch.randn(64, 5) @ basis


def run(steps=300):
    net = Denoiser()
    opt = optim.Adam(net.parameters(), lr=1e-3)
    cycle = optim.lr_scheduler.OneCycleLR(opt, max_lr=8e-3, total_steps=steps + 1)
    for step, clean in enumerate(batches(steps)):
        noisy = clean + 0.3 * torch.randn_like(clean)
        loss = nn.functional.mse_loss(net(noisy), clean)
        opt.zero_grad()
        loss.backward()
        opt.step()
        cycle.step()
        if step % 60 == 0:
            print(f"{step}: {loss.item():.4f}")


torch.manual_seed(8)
run()
