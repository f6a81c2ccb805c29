import math
import torch
import torch.nn as nn


class MCNet(nn.Module):
    """dropout stays on at prediction time: the spread of the samples is the uncertainty"""

    def __init__(self, p=0.1):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(3, 96), nn.Linear(96, 96), nn.Linear(96, 1)
        self.p = p

    def forward(self, x):
        x = nn.functional.dropout(torch.relu(self.a(x)), self.p, training=True)
        x = nn.functional.dropout(torch.relu(self.b(x)), self.p, training=True)
        return self.c(x)


def f(x):
    return torch.sin(2 * x[:, :1]) + x[:, 1:2] * x[:, 2:]


def predict(net, x, k=40):
    net.eval()
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(0)
        s = torch.stack([net(x) for _ in range(k)])
    net.train()
    return s.mean(0), s.std(0)


torch.manual_seed(99)
x = torch.randn(2000, 3)
y = f(x) + 0.05 * torch.randn(2000, 1)
xv = torch.randn(500, 3)
net = MCNet()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(10):
    for idx in torch.randperm(2000).split(50):
        loss = (net(x[idx]) - y[idx]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    m, s = predict(net, xv)
    print(f"epoch {epoch} loss {loss.item():.4f} val rmse {math.sqrt((m - f(xv)).pow(2).mean()):.4f} mean std {s.mean():.3f} "
          f"far away std {predict(net, xv * 4)[1].mean():.3f}")
