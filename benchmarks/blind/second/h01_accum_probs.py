"""Gradient accumulation with a ragged last group; the network ends in a softmax and the loss takes its log."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(10)
C, D = 7, 30
centers = torch.randn(C, D) * 0.7


def draw(n):
    y = torch.randint(0, C, (n,))
    return centers[y] + torch.randn(n, D), y


class ProbNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(D, 48), nn.Tanh(), nn.Linear(48, C), nn.Softmax(dim=-1))

    def forward(self, x):
        return self.body(x)


train = DataLoader(TensorDataset(*draw(2090)), batch_size=10, shuffle=True)
xv, yv = draw(1000)
net = ProbNet()
crit = nn.NLLLoss(reduction="sum")
opt = torch.optim.SGD(net.parameters(), lr=1.0)
GROUP = 6

for epoch in range(5):
    seen, total = 0, 0.0
    opt.zero_grad()
    for i, (x, y) in enumerate(train):
        p = net(x)
        loss = crit(torch.log(p + 1e-9), y)
        (loss / (GROUP * 10)).backward()
        seen += len(y)
        total += loss.item()
        if (i + 1) % GROUP == 0 or i + 1 == len(train):
            opt.step()
            opt.zero_grad()
    with torch.no_grad():
        acc = (net(xv).argmax(1) == yv).float().mean().item()
    print(f"epoch {epoch}: nll {total / seen:.4f} val acc {acc:.3f}")
