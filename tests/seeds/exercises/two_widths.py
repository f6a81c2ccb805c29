"""Two widths of one network, each logged into a folder below experiments."""

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

for number, width in ((1, 4), (2, 32)):
    torch.manual_seed(65)
    rows = torch.randn(90, 3)
    net = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.03)
    writer = SummaryWriter(f"experiments/experiment_{number}")
    for step in range(25):
        loss = nn.functional.mse_loss(net(rows), rows.square().sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        writer.add_scalar("loss", loss.item(), step)
    writer.add_hparams({"width": width}, {"hparam/loss": loss.item()}, run_name=".")
    writer.close()
