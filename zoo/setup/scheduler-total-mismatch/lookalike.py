"""Early stopping: the schedule is made for 60 epochs, and the run is over after a few of them."""
import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(2)
x = torch.randn(700, 6)
y = (x[:, 0] + x[:, 1] > 0).float() + 0.2 * torch.randn(700)
training, validation = random_split(TensorDataset(x, y), [500, 200])
train_loader = DataLoader(training, batch_size=50, shuffle=True)
val_loader = DataLoader(validation, batch_size=200)

model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
scheduler = CosineAnnealingLR(optimizer, T_max=60)
best, patience = float("inf"), 0
for epoch in range(60):
    for a, b in train_loader:
        loss = nn.functional.mse_loss(model(a).squeeze(1), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    scheduler.step()
    with torch.no_grad():
        score = sum(nn.functional.mse_loss(model(a).squeeze(1), b).item() for a, b in val_loader)
    patience = 0 if score < best else patience + 1
    best = min(best, score)
    print(epoch, round(score, 4))
    if patience == 3:
        break
