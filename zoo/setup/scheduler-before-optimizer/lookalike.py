"""Goes on from epoch 4 of an earlier run: the schedule is brought forward before the first update."""
import torch
from torch import nn

torch.manual_seed(6)
x = torch.randn(320, 6)
y = x[:, 0].sin() + 0.5 * x[:, 1]
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)

start_epoch = 4
optimizer.step()
for _ in range(start_epoch):
    scheduler.step()

for epoch in range(start_epoch, 16):
    for begin in range(0, 320, 32):
        loss = nn.functional.mse_loss(model(x[begin : begin + 32]).squeeze(1), y[begin : begin + 32])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    scheduler.step()
    print(epoch, round(loss.item(), 4), scheduler.get_last_lr())
