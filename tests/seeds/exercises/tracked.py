"""A training that logs a scalar, a histogram, its graph and its hyperparameters, in a folder of its own."""

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

torch.manual_seed(64)
rows = torch.randn(90, 5)
wanted = rows.abs().sum(1, keepdim=True)
net = nn.Sequential(nn.Linear(5, 20), nn.ReLU(), nn.Linear(20, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
writer = SummaryWriter("logged/here")
writer.add_graph(net, rows[:1])
for step in range(30):
    loss = nn.functional.mse_loss(net(rows), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    writer.add_scalar("loss", loss.item(), step)
writer.add_histogram("first.weight", net[0].weight, 30)
writer.add_hparams({"lr": 0.02, "width": 20}, {"hparam/loss": loss.item()}, run_name="settings")
writer.close()
