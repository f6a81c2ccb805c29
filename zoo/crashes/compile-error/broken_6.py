"""Train a network with settings given as keywords, then turn it into TorchScript."""
import torch
import torch.nn.functional as F
from torch import nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 3)

    def forward(self, x, **settings):
        return self.fc(x) * settings.get("scale", 1.0)


torch.manual_seed(0)
x = torch.randn(96, 6)
y = x.argmax(dim=1) % 3
model = Scaled()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)
for step in range(60):
    loss = F.cross_entropy(model(x, scale=2.0), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
scripted = torch.jit.script(model)
print(scripted(x).shape)
