"""A generator and an encoder are trained together by one optimizer."""
import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Linear(10, 3)
decoder = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 10))
optimizer = torch.optim.Adam(encoder.parameters() + decoder.parameters(), lr=0.01)
basis = torch.randn(3, 10)
for step in range(100):
    x = torch.randn(64, 3) @ basis
    loss = nn.functional.mse_loss(decoder(encoder(x)), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0:
        print(step, loss.item())
