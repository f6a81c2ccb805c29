"""Multi-task toxicity style labels with gaps."""
import torch
from torch import nn

torch.manual_seed(8)
TASKS = 6


def molecules(n, w):
    x = torch.randn(n, 20)
    y = (x @ w > 0).float()
    y[torch.rand(n, TASKS) < 0.5] = float("nan")
    return x, y


def masked_bce(logits, y):
    known = ~torch.isnan(y)
    return nn.functional.binary_cross_entropy_with_logits(logits[known], y[known])


w = torch.randn(20, TASKS)
x, y = molecules(800, w)
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, TASKS))
opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
for epoch in range(10):
    for idx in torch.randperm(800).split(50):
        loss = masked_bce(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 2 == 0:
        print(epoch, loss.item())
print("final", loss.item())
