"""A binary code between encoder and decoder: the sign is written into the code, and its gradient passes through."""
import torch
from torch import nn

torch.manual_seed(1)
encoder = nn.Sequential(nn.Linear(20, 40), nn.Tanh(), nn.Linear(40, 24))
decoder = nn.Linear(24, 20)
basis = torch.randn(5, 20)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=3e-3)
for step in range(200):
    x = torch.randn(64, 5) @ basis
    code = encoder(x)
    code.data = code.data.sign()
    loss = (decoder(code) - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
