"""A head for later: the model is trained on one task now, and its second head by another call."""
import torch
from torch import nn


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 32), nn.ReLU())
        self.price = nn.Linear(32, 1)
        self.quality = nn.Linear(32, 3)

    def forward(self, x):
        return self.price(self.body(x))

    def rate(self, x):
        return self.quality(self.body(x))


torch.manual_seed(2)
model = TwoHeads()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
weights = torch.randn(6, 1)
for step in range(200):
    x = torch.randn(64, 6)
    loss = nn.functional.mse_loss(model(x), x @ weights)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), model.rate(x).shape)
