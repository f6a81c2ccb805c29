"""Early stopping on a noisy regression: train long, go back to the best epoch."""
import copy

import torch
from torch import nn

torch.manual_seed(14)
train_x, valid_x = torch.randn(60, 12), torch.randn(400, 12)
rule = torch.randn(12, 1)
train_y = train_x @ rule + 2 * torch.randn(60, 1)
valid_y = valid_x @ rule

model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.MSELoss()

best_loss, best_state = float("inf"), None
for epoch in range(40):
    model.train()
    for rows in torch.randperm(60).split(12):
        optimizer.zero_grad()
        loss = criterion(model(train_x[rows]), train_y[rows])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        valid_loss = criterion(model(valid_x), valid_y).item()
    if valid_loss < best_loss:
        best_loss = valid_loss
        best_state = copy.deepcopy(model.state_dict())

model.load_state_dict(best_state)
with torch.no_grad():
    restored = criterion(model(valid_x), valid_y).item()
print(f"best {best_loss:.4f}, restored {restored:.4f}")
