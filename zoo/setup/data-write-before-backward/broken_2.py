# An encoder and a decoder; activations are limited before the statistics are printed.
import torch
from torch import nn

torch.manual_seed(1)
encoder = nn.Linear(20, 40)
decoder = nn.Linear(40, 20)
basis = torch.randn(5, 20)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=3e-3)


def train(steps):
    for step in range(steps):
        x = torch.randn(64, 5) @ basis
        code = torch.tanh(encoder(x))
        loss = (decoder(code) - x).square().mean()
        code.data.clamp_(-0.2, 0.2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(step, f"{loss.item():.3f}", f"{code.abs().mean().item():.3f}")


train(200)
