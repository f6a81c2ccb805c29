# Noisy weights: every forward of the regressor sees a perturbed input layer, the clean one is put back for the update.
import torch
import torch.nn as nn


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(10, 64)
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        return self.out(torch.relu(self.inp(x)))


torch.manual_seed(4)
net = Regressor()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
target = torch.randn(10, 1)
for it in range(160):
    x = torch.randn(40, 10)
    y = (x @ target).abs()
    err = (net(x) - y).pow(2).mean()
    clean = net.inp.weight.detach().clone()
    net.inp.weight = torch.nn.Parameter(clean + 0.01 * torch.randn_like(clean))
    opt.zero_grad()
    err.backward()
    opt.step()
    if it % 40 == 0:
        print(it, err.item())
