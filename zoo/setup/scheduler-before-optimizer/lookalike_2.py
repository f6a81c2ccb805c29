"""A checkpoint after one epoch, then training goes on with everything loaded, the schedule as well."""
import io

import torch
from torch import nn


def build():
    net = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 1))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    return net, opt, torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=12)


def train_epoch(net, opt, data, target):
    for rows in torch.arange(len(data)).split(25):
        loss = nn.functional.mse_loss(net(data[rows]).squeeze(1), target[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


torch.manual_seed(12)
data = torch.randn(400, 5)
target = data.prod(dim=1)
net, opt, sched = build()
train_epoch(net, opt, data, target)
sched.step()
file = io.BytesIO()
torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "sched": sched.state_dict()}, file)

file.seek(0)
saved = torch.load(file)
net, opt, sched = build()
net.load_state_dict(saved["net"])
opt.load_state_dict(saved["opt"])
sched.load_state_dict(saved["sched"])
for epoch in range(1, 12):
    print(epoch, round(train_epoch(net, opt, data, target), 4), sched.get_last_lr())
    sched.step()
