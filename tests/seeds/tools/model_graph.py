"""Logs the graph of a network for TensorBoard's Graphs tab, and draws it ourselves."""

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

import torch_debugger

torch.manual_seed(2)
device = "cuda" if torch.cuda.is_available() else "cpu"
net = nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(24, 7)).to(device)
picture = torch.randn(1, 3, 16, 16).to(device)
writer = SummaryWriter("runs/graph")
writer.add_graph(net, picture)
writer.close()
drawing = torch_debugger.model_graph(net, picture)
drawing.save("net.svg")
drawing.save("net.html")
print("AdaptiveAvgPool2d" in str(drawing))
