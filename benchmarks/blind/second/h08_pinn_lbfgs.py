"""u'' = -pi^2 sin(pi x), u(0)=u(1)=0 with fixed random Fourier features and LBFGS."""
import math
import torch
import torch.nn as nn


class FourierNet(nn.Module):
    def __init__(self, n=12):
        super().__init__()
        self.register_buffer("freq", torch.randn(1, n) * 2)
        self.net = nn.Sequential(nn.Linear(2 * n, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, x):
        f = x @ self.freq
        return self.net(torch.cat([f.sin(), f.cos()], -1))


torch.manual_seed(0)
net = FourierNet()
opt = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=1, history_size=20, line_search_fn=None)
xi = torch.linspace(0, 1, 40).unsqueeze(1).requires_grad_(True)
xb = torch.tensor([[0.0], [1.0]])


def residual():
    u = net(xi)
    du = torch.autograd.grad(u.sum(), xi, create_graph=True)[0]
    d2u = torch.autograd.grad(du.sum(), xi, create_graph=True)[0]
    return d2u + math.pi ** 2 * torch.sin(math.pi * xi)


def closure():
    opt.zero_grad()
    loss = residual().pow(2).mean() + 100 * net(xb).pow(2).mean()
    loss.backward()
    return loss


warm = torch.optim.Adam(net.parameters(), lr=5e-3)
for k in range(1, 201):
    loss = warm.step(closure)
    if k % 50 == 0:
        print(f"adam {k} loss {loss.item():.4f}")
for k in range(1, 71):
    loss = opt.step(closure)
    if k % 10 == 0:
        with torch.no_grad():
            err = (net(xi) - torch.sin(math.pi * xi)).abs().max().item()
        print(f"lbfgs {k} loss {loss.item():.3e} max error {err:.2e}")
