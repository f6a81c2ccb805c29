"""Contrastive learning at a low temperature: the first loss is above ln(batch), as it should be."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(3)
encoder = nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, 16))
opt = torch.optim.Adam(encoder.parameters(), lr=2e-3)
for step in range(150):
    sample = torch.randn(48, 20)
    a = F.normalize(encoder(sample + 0.1 * torch.randn_like(sample)), dim=1)
    b = F.normalize(encoder(sample + 0.1 * torch.randn_like(sample)), dim=1)
    loss = F.cross_entropy(a @ b.T / 0.05, torch.arange(48))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(step, round(loss.item(), 3))
