"""A hashing network: tanh is pushed to -1 and 1 on purpose, so that the codes become bits."""
import torch
from torch import nn

torch.manual_seed(0)
centers = 2 * torch.randn(8, 20)


class Hasher(nn.Module):
    def __init__(self, bits=16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, bits))
        self.head = nn.Linear(bits, 8)

    def forward(self, x, sharpness):
        return self.head(torch.tanh(sharpness * self.body(x)))


model = Hasher()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(400):
    y = torch.randint(0, 8, (64,))
    x = centers[y] + torch.randn(64, 20)
    loss = nn.functional.cross_entropy(model(x, 1 + step / 20), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
