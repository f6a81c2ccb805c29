"""Train with a learning rate that follows the validation loss."""
import torch
from torch import nn

torch.manual_seed(0)
weights = torch.randn(5, 1)
train_x, val_x = torch.randn(200, 5), torch.randn(80, 5)
train_y, val_y = train_x @ weights, val_x @ weights
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=5)

for epoch in range(40):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(train_x), train_y)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        val_loss = nn.functional.mse_loss(model(val_x), val_y).item()
    scheduler.step(val_loss)
    if epoch % 10 == 0:
        print(epoch, loss.item(), val_loss)
