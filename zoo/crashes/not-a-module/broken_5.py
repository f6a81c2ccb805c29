"""A model with a head for each task."""
import torch
from torch import nn

torch.manual_seed(0)


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 32), nn.ReLU())
        self.heads = nn.ModuleDict({"sum": nn.Linear(32, 1), "first.square": nn.Linear(32, 1)})

    def forward(self, x):
        h = self.body(x)
        return [head(h) for head in self.heads.values()]


model = MultiTask()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(80):
    x = torch.randn(64, 6)
    total, square = model(x)
    loss = nn.functional.mse_loss(total, x.sum(1, keepdim=True)) + nn.functional.mse_loss(square, x[:, :1] ** 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
