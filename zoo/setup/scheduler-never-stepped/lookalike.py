"""The rate falls only when the validation loss has not improved for a while, which here never happens."""
import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

torch.manual_seed(1)
x = torch.randn(600, 8)
y = (x @ torch.randn(8, 1)).squeeze(1)
train_x, train_y, val_x, val_y = x[:500], y[:500], x[500:], y[500:]

model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
scheduler = ReduceLROnPlateau(optimizer, factor=0.5, patience=50)

for epoch in range(30):
    for start in range(0, 500, 50):
        loss = nn.functional.mse_loss(model(train_x[start : start + 50]).squeeze(1), train_y[start : start + 50])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        validation = nn.functional.mse_loss(model(val_x).squeeze(1), val_y)
    scheduler.step(validation)
    if epoch % 10 == 0:
        print(epoch, round(validation.item(), 4))
