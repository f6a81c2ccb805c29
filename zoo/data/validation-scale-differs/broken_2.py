# Standardized features in training; the test table is used as it came.
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(600, 5) * torch.tensor([40.0, 25.0, 60.0, 30.0, 55.0]) + torch.tensor([10.0, 80.0, 5.0, 60.0, 30.0])
y = torch.tanh(((x[:, :1] - 10) / 40 + (x[:, 1:2] - 80) / 25))
x_train, x_test, y_train, y_test = x[:500], x[500:], y[:500], y[500:]
mean, std = x_train.mean(0), x_train.std(0)
x_train = (x_train - mean) / std

model = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(300):
    rows = torch.randint(0, 500, (50,))
    loss = nn.functional.mse_loss(model(x_train[rows]), y_train[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        with torch.no_grad():
            error = nn.functional.mse_loss(model(x_test), y_test)
        print(f"{step + 1}: train {loss.item():.4f}, test {error.item():.4f}")
