"""House prices; a part of the rows is kept for testing."""
import torch
from torch import nn

torch.manual_seed(6)
x = torch.randn(500, 7)
y = x @ torch.randn(7, 1) + 0.1 * torch.randn(500, 1)
train_x, test_x = x[:400], x[400:]
train_y, test_y = y[:400], y[400:]

model = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(10):
    order = torch.randperm(len(train_x))
    for start in range(0, 400, 50):
        rows = order[start:start + 50]
        xb, yb = train_x[rows], train_y[rows]
        loss = nn.functional.mse_loss(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        test = nn.functional.mse_loss(model(test_x), test_y).item()
    print(f"epoch {epoch} train {loss.item():.4f} test {test:.4f}")
