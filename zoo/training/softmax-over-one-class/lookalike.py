"""A sequence summary by attention, where some sequences have a single element."""
import torch
import torch.nn.functional as F
from torch import nn


class Summary(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Parameter(torch.randn(6) / 6**0.5)
        self.head = nn.Linear(6, 3)

    def forward(self, items):
        weights = F.softmax(items @ self.query, dim=1)
        return self.head((weights.unsqueeze(2) * items).sum(1))


torch.manual_seed(4)
model = Summary()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
for step in range(240):
    length = (1, 2, 4)[step % 3]
    label = torch.randint(0, 3, (40,))
    items = F.one_hot(label, 6).float().unsqueeze(1) + 0.3 * torch.randn(40, length, 6)
    loss = F.cross_entropy(model(items), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(step, f"{loss.item():.4f}")
