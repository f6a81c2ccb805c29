"""Random Fourier-like features: a layer that is drawn once and never trained, by design."""
import torch
from torch import nn


class RandomFeatures(nn.Module):
    def __init__(self, inputs, features):
        super().__init__()
        self.projection = nn.Linear(inputs, features)
        for p in self.projection.parameters():
            p.requires_grad = False
        self.readout = nn.Linear(features, 1)

    def forward(self, x):
        return self.readout(torch.cos(3 * self.projection(x)))


torch.manual_seed(1)
model = RandomFeatures(4, 400)
optimizer = torch.optim.Adam(model.readout.parameters(), lr=2e-2)
for step in range(250):
    x = torch.rand(128, 4) * 2 - 1
    loss = nn.functional.mse_loss(model(x), torch.sin(2 * x.sum(dim=1, keepdim=True)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
