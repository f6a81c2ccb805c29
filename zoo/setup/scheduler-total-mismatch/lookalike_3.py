"""Gradients of four batches make one update; the one-cycle schedule is made for the number of updates."""
import torch
from torch import nn

torch.manual_seed(13)
x = torch.randn(960, 6)
y = (x[:, :1] * x[:, 1:2]).tanh()
accumulate, epochs = 4, 8
batches = list(zip(x.split(16), y.split(16)))
net = nn.Sequential(nn.Linear(6, 48), nn.GELU(), nn.Linear(48, 1))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.OneCycleLR(opt, 2e-2, total_steps=epochs * len(batches) // accumulate)
for epoch in range(epochs):
    for number, (a, b) in enumerate(batches, start=1):
        loss = nn.functional.mse_loss(net(a), b)
        (loss / accumulate).backward()
        if number % accumulate == 0:
            opt.step()
            schedule.step()
            opt.zero_grad()
    print(epoch, round(loss.item(), 4))
