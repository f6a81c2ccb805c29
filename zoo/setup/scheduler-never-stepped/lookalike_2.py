"""Short fine-tuning: the schedule of the second stage is made up front and used only if it comes to that."""
import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR


def build(model, epochs):
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    warmup = LinearLR(optimizer, start_factor=0.1, total_iters=3)
    cosine = CosineAnnealingLR(optimizer, T_max=epochs - 3)
    return optimizer, SequentialLR(optimizer, [warmup, cosine], milestones=[3])


torch.manual_seed(9)
inputs = torch.randn(256, 12)
labels = (inputs[:, :4].sum(1) > 0).long()
model = nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 2))
optimizer, schedule = build(model, epochs=20)

for epoch in range(3):
    order = torch.randperm(256)
    for chunk in order.split(16):
        loss = nn.functional.cross_entropy(model(inputs[chunk]), labels[chunk])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    schedule.step()
    print(epoch, round(loss.item(), 4), schedule.get_last_lr())
