# Contrastive pretraining with a queue of negatives: the right answer always stands in place 0.
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
centres = torch.randn(6, 20) * 2
kind = torch.randint(0, 6, (600,))
points = centres[kind] + 0.5 * torch.randn(600, 20)
loader = DataLoader(TensorDataset(points), batch_size=50, shuffle=True)
encoder = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 16))
optimizer = torch.optim.Adam(encoder.parameters(), lr=2e-3)
queue = F.normalize(torch.randn(200, 16), dim=1)
for epoch in range(12):
    for (x,) in loader:
        query = F.normalize(encoder(x + 0.3 * torch.randn_like(x)), dim=1)
        with torch.no_grad():
            key = F.normalize(encoder(x + 0.3 * torch.randn_like(x)), dim=1)
        logits = torch.cat([(query * key).sum(1, keepdim=True), query @ queue.T], 1) / 0.2
        loss = F.cross_entropy(logits, torch.zeros(len(x), dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        queue = torch.cat([key, queue])[:200]
print(loss.item())
