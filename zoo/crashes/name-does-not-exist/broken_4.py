"""Train and stop when a gradient is not finite."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def training_step():
    x = torch.randn(32, 3)
    loss = nn.functional.mse_loss(model(x).squeeze(1), x.abs().sum(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


with torch.autograd.detect_anomaly(check_nan=True, check_inf=True, stacklevel=4):
    for step in range(40):
        loss = training_step()
print("loss", loss)
