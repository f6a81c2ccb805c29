# In which quarter is the picture bright? Plain SGD, settings from the command line.
import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=1e-5)
args = parser.parse_args([])
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 4))
opt = torch.optim.SGD(net.parameters(), lr=args.lr)
for step in range(200):
    y = torch.randint(0, 4, (32,))
    x = torch.randn(32, 1, 12, 12)
    for i, k in enumerate(y.tolist()):
        x[i, 0, 6 * (k // 2) : 6 * (k // 2) + 6, 6 * (k % 2) : 6 * (k % 2) + 6] += 1.5
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(step, loss.item())
