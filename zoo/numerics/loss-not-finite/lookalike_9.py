"""Early stopping with the usual initial values."""
import copy
import torch
from torch import nn

torch.manual_seed(5)
x = torch.randn(400, 10)
y = (x[:, 0] * 2 - x[:, 3]).unsqueeze(1)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
best, best_state, patience = float("inf"), None, 0
best_per_sample = torch.full((100,), float("inf"))
worst = torch.tensor(-float("inf"))

for epoch in range(40):
    for idx in torch.randperm(300).split(50):
        loss = nn.functional.mse_loss(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        each = (model(x[300:]) - y[300:]).square().squeeze(1)
    best_per_sample = torch.minimum(best_per_sample, each)
    worst = torch.maximum(worst, each.max())
    if each.mean() < best:
        best, best_state, patience = each.mean().item(), copy.deepcopy(model.state_dict()), 0
    else:
        patience += 1
        if patience > 5:
            break
    if epoch % 8 == 0:
        print(epoch, best, best_per_sample.mean().item(), worst.item())
model.load_state_dict(best_state)
print("final", best)
