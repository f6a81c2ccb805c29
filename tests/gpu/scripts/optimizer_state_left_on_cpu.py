"""Trains a little on the CPU, then moves to the GPU and goes on."""
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(10, 1)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)


def train(device, steps):
    for _ in range(steps):
        x = torch.randn(32, 10, device=device)
        loss = (net(x) - x.sum(dim=1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


train("cpu", 3)
net.to("cuda")
train("cuda", 3)
