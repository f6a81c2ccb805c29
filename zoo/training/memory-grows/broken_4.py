"""Multi-task training; a meter for each loss gives its mean for the log."""
import torch
from torch import nn


class Meter:
    def __init__(self):
        self.value, self.total, self.n = None, 0, 0

    def update(self, v):
        self.total = self.total + v
        self.n += 1

    def mean(self):
        return self.total / self.n


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 64), nn.ReLU())
        self.cls, self.reg = nn.Linear(64, 3), nn.Linear(64, 1)

    def forward(self, x):
        h = self.body(x)
        return self.cls(h), self.reg(h).squeeze(1)


torch.manual_seed(0)
net, meters = Net(), {"cls": Meter(), "reg": Meter()}
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(250):
    x = torch.randn(64, 10)
    logits, value = net(x)
    cls_loss = nn.functional.cross_entropy(logits, x[:, :3].argmax(1))
    reg_loss = nn.functional.mse_loss(value, x[:, 4] * x[:, 5])
    loss = cls_loss + 0.5 * reg_loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    meters["cls"].update(cls_loss)
    meters["reg"].update(reg_loss)
    if step % 50 == 0:
        print(step, float(meters["cls"].mean()), float(meters["reg"].mean()))
