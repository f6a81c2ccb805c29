"""Attention over the steps of a sequence, with padding masked out."""
import torch
from torch import nn


class Pooler(nn.Module):
    def __init__(self, size, n_classes):
        super().__init__()
        self.score = nn.Linear(size, 1)
        self.fc = nn.Linear(size, n_classes)

    def forward(self, x, mask):
        scores = self.score(x).squeeze(-1).masked_fill(~mask, -1e9)
        weights = torch.softmax(scores, dim=1)
        return self.fc((weights.unsqueeze(-1) * x).sum(1))


torch.manual_seed(0)
centers = torch.randn(3, 6) * 2
model = Pooler(6, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(60):
    labels = torch.randint(0, 3, (24,))
    lengths = torch.randint(2, 8, (24,))
    mask = torch.arange(8)[None] < lengths[:, None]
    x = (centers[labels][:, None] + torch.randn(24, 8, 6)) * mask[..., None]
    logits = model(x, masks=mask)
    loss = nn.functional.cross_entropy(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item())
