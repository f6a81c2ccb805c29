"""Train on several devices and print the size of the last layer."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 16)
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        return self.head(torch.tanh(self.body(x))).squeeze(1)


torch.manual_seed(0)
model = nn.DataParallel(Net())
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(50):
    x = torch.randn(64, 4)
    loss = nn.functional.mse_loss(model(x), x[:, 0] * x[:, 1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 30:
        print("largest weight", model.module.head.weight.abs().max().item())
print("loss", loss.item())
