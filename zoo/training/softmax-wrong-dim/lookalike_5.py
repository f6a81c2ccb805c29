"""Multiple-instance learning, one bag at a time: the softmax over dim 0 runs over the instances of the bag."""
import torch
import torch.nn.functional as F
from torch import nn


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = nn.Sequential(nn.Linear(6, 24), nn.ReLU())
        self.a = nn.Sequential(nn.Linear(24, 12), nn.Tanh(), nn.Linear(12, 1))
        self.c = nn.Linear(24, 1)

    def forward(self, bag):
        h = self.h(bag)
        w = F.softmax(self.a(h), dim=0)
        return self.c((w * h).sum(0))


torch.manual_seed(0)
net = Bag()
opt = torch.optim.Adam(net.parameters(), 2e-3)
for step in range(300):
    n = int(torch.randint(5, 15, ()))
    bag = torch.randn(n, 6)
    y = torch.rand(1).round()
    if y:
        bag[torch.randint(0, n, ()), :2] += 4
    loss = F.binary_cross_entropy_with_logits(net(bag), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0:
        print(step, loss.item())
