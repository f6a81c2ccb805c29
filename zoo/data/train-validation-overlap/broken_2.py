# Regression with two loaders built by one function.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
x = torch.randn(360, 30)
y = x[:, :3].sum(1, keepdim=True) + torch.randn(360, 1)
train_x, test_x = x[:300], x[300:]
train_y, test_y = y[:300], y[300:]


def make_loader(inputs, targets, shuffle):
    return DataLoader(TensorDataset(inputs, targets), batch_size=30, shuffle=shuffle)


train_loader = make_loader(train_x, train_y, True)
test_loader = make_loader(train_x[200:], train_y[200:], False)

model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(4):
    for inputs, targets in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        errors = [nn.functional.mse_loss(model(inputs), targets).item() for inputs, targets in test_loader]
    model.train()
    print(f"{epoch:2d} train {loss.item():.3f} test {sum(errors) / len(errors):.3f}")
