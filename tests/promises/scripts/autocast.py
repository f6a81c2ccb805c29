"""bfloat16 autocast with AdamW, a schedule, a GradScaler that skips a step, and an averaged copy."""

import torch
from fingerprint import STEPS, finish, start
from torch import nn

start()
net = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 4))
decayed = [parameter for parameter in net.parameters() if parameter.dim() > 1]
others = [parameter for parameter in net.parameters() if parameter.dim() < 2]
optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": others}], lr=3e-3)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3, total_steps=STEPS)
average = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=5)
losses = []
for step in range(STEPS):
    x, y = torch.randn(24, 16), torch.randn(24, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = net(x)
        loss = nn.functional.mse_loss(output.float(), y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    if step == 11:
        net[0].weight.grad[0, 0] = float("inf")
    scaler.step(optimizer)
    scaler.update()
    schedule.step()
    average.update_parameters(net)
    losses.append(loss.item())
finish([net, average], [optimizer, schedule, scaler], [output], losses)
