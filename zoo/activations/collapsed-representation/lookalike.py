"""SimSiam: one branch is detached and a predictor sits on the other, so nothing collapses."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
centers = torch.randn(8, 24)
encoder = nn.Sequential(nn.Linear(24, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32), nn.BatchNorm1d(32))
predictor = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 32))
optimizer = torch.optim.SGD([*encoder.parameters(), *predictor.parameters()], lr=0.05, momentum=0.9)
for step in range(300):
    x = centers[torch.randint(0, 8, (64,))]
    z1, z2 = encoder(x + 0.3 * torch.randn_like(x)), encoder(x + 0.3 * torch.randn_like(x))
    p1, p2 = predictor(z1), predictor(z2)
    loss = -(F.cosine_similarity(p1, z2.detach()).mean() + F.cosine_similarity(p2, z1.detach()).mean()) / 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), F.normalize(z1, dim=1).std(0).mean().item())
