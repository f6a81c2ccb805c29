"""A tiny network written with plain tensors and functions; minibatches are cut by hand."""

import torch
import torch.nn.functional as F

torch.manual_seed(12)
points = torch.rand(1000, 2) * 4 - 2
inside = (points.norm(dim=1) < 1.3).float()

w1 = (0.7 * torch.randn(2, 32)).requires_grad_()
b1 = torch.zeros(32, requires_grad=True)
w2 = (0.2 * torch.randn(32, 1)).requires_grad_()
b2 = torch.zeros(1, requires_grad=True)
optimizer = torch.optim.Adam([w1, b1, w2, b2], lr=1e-2)
batch = 50

for epoch in range(10):
    order = torch.randperm(len(points))
    total = 0.0
    for start in range(0, len(points), batch):
        rows = order[start : start + batch]
        x = points[rows]
        y = inside[rows]
        score = (torch.relu(x @ w1 + b1) @ w2 + b2).squeeze(1)
        loss = F.binary_cross_entropy_with_logits(score, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / 20:.4f}")
