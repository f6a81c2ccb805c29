"""Regression with a probe set measured after every update."""
import resource
import torch
import torch.nn as nn


class History:
    def __init__(self):
        self.train, self.probe = [], []

    def log(self, train, probe):
        self.train.append(train)
        self.probe.append(probe)

    def report(self, step):
        k = self.probe[-20:]
        print(f"step {step:4d} train {self.train[-1]:.4f} probe(avg 20) {sum(k) / len(k):.4f}")


def target(x):
    return torch.sin(x[:, :1] * 2) + x[:, 1:2] * x[:, 2:3] + 0.3 * x[:, 3:4] ** 2


torch.manual_seed(12)
net = nn.Sequential(nn.Linear(4, 160), nn.SiLU(), nn.Linear(160, 160), nn.SiLU(), nn.Linear(160, 160), nn.SiLU(), nn.Linear(160, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
loss_fn = nn.MSELoss()
probe_x = torch.randn(400, 4)
probe_y = target(probe_x)
hist = History()
start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

for step in range(1, 301):
    x = torch.randn(64, 4)
    net.train()
    loss = loss_fn(net(x), target(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
    net.eval()
    probe_loss = loss_fn(net(probe_x), probe_y)
    hist.log(loss.item(), probe_loss)
    if step % 50 == 0:
        hist.report(step)

used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) / 1024
print(f"best probe {min(hist.probe):.4f}  peak rss +{used:.0f} MB")
