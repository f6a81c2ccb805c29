"""RankNet: every pair in the batch is compared, so the (N, N) difference is meant."""
import torch
from torch import nn

torch.manual_seed(0)
scorer = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(scorer.parameters(), lr=3e-3)

for step in range(250):
    docs = torch.randn(40, 6)
    relevance = docs[:, 0] + docs[:, 1] ** 2
    score = scorer(docs)
    differences = score - score.squeeze(1)
    better = (relevance[:, None] > relevance[None, :]).float()
    mask = 1 - torch.eye(40)
    loss = (nn.functional.softplus(-differences) * better * mask).sum() / (better * mask).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step:3d} pairwise loss {loss.item():.4f}")
