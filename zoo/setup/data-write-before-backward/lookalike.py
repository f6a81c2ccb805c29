"""A convolution whose filters are kept short in its forward, as EEGNet does."""
import torch
from torch import nn


class ShortFilters(nn.Conv1d):
    def forward(self, x):
        self.weight.data = torch.renorm(self.weight.data, p=2, dim=0, maxnorm=0.3)
        return super().forward(x)


torch.manual_seed(0)
model = nn.Sequential(ShortFilters(4, 16, 5), nn.ELU(), nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(64, 3))
waves = torch.randn(3, 4, 32)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(150):
    y = torch.randint(0, 3, (32,))
    x = waves[y] + torch.randn(32, 4, 32)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
