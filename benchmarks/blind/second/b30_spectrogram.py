"""Sound event classifier on log-mel frames (values in decibel)."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def frames(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 5, (n,), generator=g)
    base = -60 + 6 * torch.randn(n, 40, generator=g)
    for c in range(5):
        m = y == c
        base[m, c * 7:c * 7 + 8] += 18
    return base.clamp(-80, 0), y


class EventNet(nn.Module):
    def __init__(self, n_mel=40, hidden=64, n_out=5):
        super().__init__()
        self.fc1 = nn.Linear(n_mel, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, n_out)
        for fc in (self.fc1, self.fc2, self.fc3):
            nn.init.uniform_(fc.weight, 0.0, 0.1)
            nn.init.zeros_(fc.bias)

    def forward(self, x):
        x = x / 20.0
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


def run():
    torch.manual_seed(55)
    x, y = frames(2000, 1)
    xv, yv = frames(500, 2)
    net = EventNet()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    step = 0
    for epoch in range(6):
        net.train()
        for idx in torch.randperm(len(x)).split(50):
            loss = F.cross_entropy(net(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
        net.eval()
        with torch.no_grad():
            o = net(xv)
        print(f"epoch {epoch} step {step} train {loss.item():.4f} val {F.cross_entropy(o, yv).item():.4f} "
              f"acc {(o.argmax(1) == yv).float().mean().item():.3f}")


run()
