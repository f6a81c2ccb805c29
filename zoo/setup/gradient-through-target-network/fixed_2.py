"""Self-supervised features: an online encoder predicts what a slowly moving encoder makes of another view."""
import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(5)
online = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 12))
target_encoder = copy.deepcopy(online)
predictor = nn.Linear(12, 12)
optimizer = torch.optim.Adam([*online.parameters(), *predictor.parameters()], lr=2e-3)
basis = torch.randn(4, 16)


def views(n):
    clean = torch.randn(n, 4) @ basis
    return clean + 0.2 * torch.randn(n, 16), clean + 0.2 * torch.randn(n, 16)


for step in range(200):
    first, second = views(64)
    guess = F.normalize(predictor(online(first)), dim=1)
    with torch.no_grad():
        wanted = F.normalize(target_encoder(second), dim=1)
    loss = 2 - 2 * (guess * wanted).sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target_encoder.parameters(), online.parameters()):
            slow.lerp_(fast, 0.02)
    if step % 40 == 0:
        print(step, round(loss.item(), 4))
