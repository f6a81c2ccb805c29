"""Full-batch gradients from a loader: the loss of all batches is added up and differentiated once."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
x = torch.randn(400, 5)
y = x.tanh().sum(1)
net = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
warm = DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True)
whole = DataLoader(TensorDataset(x, y), batch_size=100)

for a, b in warm:
    opt.zero_grad()
    nn.functional.mse_loss(net(a).squeeze(1), b).backward()
    opt.step()

for epoch in range(60):
    total = 0.0
    for a, b in whole:
        total = total + nn.functional.mse_loss(net(a).squeeze(1), b, reduction="sum")
    opt.zero_grad()
    (total / len(x)).backward()
    opt.step()
    if epoch % 15 == 0:
        print(epoch, round(total.item() / len(x), 4))
