"""Each entry of the state is copied, and the best one is loaded back when the training is over."""
import torch
from torch import nn

torch.manual_seed(8)
model = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
x, y = torch.randn(80, 8), torch.randn(80, 1)
vx = torch.randn(100, 8)
x[:, :1], vy = y * 0.8 + 0.3 * x[:, :1], vx[:, :1] * 0.9
best, kept = float("inf"), None
for epoch in range(60):
    for index in torch.randperm(80).split(20):
        loss = nn.functional.mse_loss(model(x[index]), y[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        score = nn.functional.mse_loss(model(vx), vy).item()
    if score < best:
        best, kept = score, {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}
model.load_state_dict(kept)
print(best, nn.functional.mse_loss(model(vx), vy).item())
