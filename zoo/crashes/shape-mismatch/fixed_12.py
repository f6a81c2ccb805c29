# Forecast the next value of many short series, each brought to its own scale.
import torch
import torch.nn as nn

torch.manual_seed(6)


def standardize(series):
    mean = series.mean(dim=1)
    std = series.std(dim=1)
    return (series - mean.unsqueeze(1)) / std.unsqueeze(1)


def make_series(n=64, length=20):
    phase = torch.rand(n, 1) * 6.28
    level = torch.rand(n, 1) * 50
    t = torch.arange(length + 1) * 0.4
    return level + torch.sin(t + phase) + 0.05 * torch.randn(n, length + 1)


model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
loss_fn = nn.MSELoss()
for step in range(120):
    scaled = standardize(make_series())
    past, following = scaled[:, :-1], scaled[:, -1:]
    loss = loss_fn(model(past), following)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step:3d}  mse {loss.item():.4f}")
