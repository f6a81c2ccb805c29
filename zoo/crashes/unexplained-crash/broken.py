"""Train a small regressor and check the settings on the way."""
import torch
from torch import nn

torch.manual_seed(0)

SCHEDULE = {"warmup": 5, "decay": 20}


def learning_rate(step):
    phase = "warmup" if step < 5 else "steady"
    return 0.05 if step < SCHEDULE[phase] else 0.01


model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
weights = torch.randn(4, 1)

for step in range(30):
    x = torch.randn(32, 4)
    for group in optimizer.param_groups:
        group["lr"] = learning_rate(step)
    loss = nn.functional.mse_loss(model(x), x @ weights)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
