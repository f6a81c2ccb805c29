"""The validation loss has been flat for a while, with a little noise, and the training loss still creeps down."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
x = torch.randn(1200, 12)
y = x[:, :1] - 0.5 * x[:, 1:2] * x[:, 2:3] + 0.3 * torch.randn(1200, 1)
train = DataLoader(TensorDataset(x[:900], y[:900]), batch_size=64, shuffle=True)
net, mse = nn.Sequential(nn.Linear(12, 48), nn.Tanh(), nn.Linear(48, 1)), nn.MSELoss()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(20):
    for features, target in train:
        opt.zero_grad()
        loss = mse(net(features), target)
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, loss.item(), mse(net(x[900:]), y[900:]).item())
