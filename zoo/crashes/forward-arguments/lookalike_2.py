"""A forward with optional arguments, called in every way it allows."""
import torch
from torch import nn


class Scaler(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 1)

    def forward(self, x, *others, bias=None, **options):
        out = self.fc(x)
        for other in others:
            out = out + other
        return out if bias is None else out + bias


torch.manual_seed(0)
model = Scaler()
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for i in range(60):
    x = torch.randn(32, 4)
    y = x.sum(dim=1, keepdim=True) + 1
    out = [model(x), model(x, torch.zeros(1)), model(x, bias=torch.zeros(1), mode="plain")][i % 3]
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(out, y)
    loss.backward()
    optimizer.step()
print(loss.item())
