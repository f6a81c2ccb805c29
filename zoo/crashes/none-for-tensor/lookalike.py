"""A body with a frozen part and a spare head; gradients are logged where there are any."""
import torch
from torch import nn

torch.manual_seed(0)
frozen = nn.Linear(10, 32).requires_grad_(False)
head, spare = nn.Linear(32, 3), nn.Linear(32, 1)
optimizer = torch.optim.Adam([*head.parameters(), *spare.parameters()], lr=0.02)
truth = torch.randn(10, 3)
seen = None
for step in range(60):
    x = torch.randn(64, 10)
    features = torch.relu(frozen(x))
    label = (x @ truth).argmax(1)
    loss = nn.functional.cross_entropy(head(features), label)
    loss = loss + 0.1 * nn.functional.mse_loss(spare(features).squeeze(1), label.float())
    optimizer.zero_grad()
    loss.backward()
    norms = [p.grad.norm().item() for p in (*frozen.parameters(), *head.parameters()) if p.grad is not None]
    seen = max(norms) if seen is None else max(seen, *norms)
    optimizer.step()
print(loss.item(), seen)
