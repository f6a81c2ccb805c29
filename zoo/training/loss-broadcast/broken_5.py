# Heteroscedastic regression: mean and log-variance heads, likelihood written by hand.
import torch
import torch.nn as nn


class Hetero(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(3, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh())
        self.mu = nn.Linear(48, 1)
        self.logvar = nn.Linear(48, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.mu(h), self.logvar(h)


torch.manual_seed(0)
x_all = torch.rand(2000, 3) * 4 - 2
y_all = torch.sin(2 * x_all[:, 0]) + x_all[:, 1] + (0.05 + 0.2 * x_all[:, 2].abs()) * torch.randn(2000)
net = Hetero()
opt = torch.optim.Adam(net.parameters(), 2e-3)
for step in range(300):
    idx = torch.randint(0, 2000, (64,))
    x, y = x_all[idx], y_all[idx]
    mu, logvar = net(x)
    nll = 0.5 * (logvar + (y - mu) ** 2 / logvar.exp())
    loss = nll.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0:
        print(step, loss.item())
