"""A regression with batches copied ahead of their use."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def fetch():
    x = torch.randn(32, 5)
    y = x.sum(1, keepdim=True)
    if torch.cuda.is_available():
        x, y = x.cuda(async=True), y.cuda()
        model.cuda()
    return x, y


for step in range(50):
    x, y = fetch()
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
