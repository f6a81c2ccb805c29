"""Count regression, summed Poisson likelihood: losses in the tens of thousands (and below zero), step size to match."""
import numpy as np
import torch
import torch.nn as nn

np.random.seed(5)
torch.manual_seed(5)
n = 6000
x = np.random.randn(n, 8).astype(np.float32)
rate = np.exp(2.5 + 0.5 * x[:, 0] - 0.4 * x[:, 1] * (x[:, 2] > 0) + 0.3 * np.sin(2 * x[:, 3]))
counts = np.random.poisson(rate).astype(np.float32)
X, Y = torch.from_numpy(x), torch.from_numpy(counts)
Xtr, Ytr, Xte, Yte = X[:5000], Y[:5000], X[5000:], Y[5000:]

net = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))
loss_fn = nn.PoissonNLLLoss(log_input=True, full=False, reduction="sum")
opt = torch.optim.SGD(net.parameters(), lr=2e-6, momentum=0.9)


def deviance(lam, y):
    t = torch.where(y > 0, y * torch.log(y / lam), torch.zeros_like(y))
    return 2 * (t - y + lam).mean().item()


for epoch in range(12):
    tot = 0.0
    for idx in torch.randperm(5000).split(250):
        loss = loss_fn(net(Xtr[idx]).squeeze(1), Ytr[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
    with torch.no_grad():
        dev = deviance(net(Xte).squeeze(1).exp(), Yte)
    print(f"epoch {epoch:2d} summed loss {tot:12.1f} test deviance {dev:.3f}")
print("null deviance", round(deviance(Ytr.mean().expand_as(Yte), Yte), 3))
