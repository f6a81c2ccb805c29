"""Contrastive training of an encoder: negatives come from a bank of embeddings of earlier batches."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(3)
prototypes = torch.randn(32, 40)

encoder = nn.Sequential(nn.Linear(40, 128), nn.ReLU(), nn.Linear(128, 64))
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)
bank = F.normalize(torch.randn(64, 64), dim=1)


def two_views(size):
    base = prototypes[torch.randint(0, 32, (size,))]
    return base + 0.3 * torch.randn(size, 40), base + 0.3 * torch.randn(size, 40)


for step in range(350):
    first, second = two_views(64)
    query = F.normalize(encoder(first), dim=1)
    with torch.no_grad():
        key = F.normalize(encoder(second), dim=1)
    positive = (query * key).sum(1, keepdim=True)
    logits = torch.cat([positive, query @ bank.T], dim=1) / 0.2
    loss = F.cross_entropy(logits, torch.zeros(64, dtype=torch.long))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    bank = torch.cat([bank, key])
    if step % 100 == 0:
        print(f"step {step}: loss {loss.item():.3f}")
