"""Which model to train is chosen by name."""
import torch
from torch import nn


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 2)

    def forward(self, x):
        return self.fc(x)


torch.manual_seed(0)
model = Small
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
direction = torch.randn(6)
for step in range(60):
    x = torch.randn(64, 6)
    loss = nn.functional.cross_entropy(model(x), (x @ direction > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
