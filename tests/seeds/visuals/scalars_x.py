"""Loss and accuracy by tensorboardX, one of each an epoch."""

import torch
from tensorboardX import SummaryWriter
from torch import nn

torch.manual_seed(70)
rows = torch.randn(150, 6)
kinds = (rows.sum(1) > 0).long()
net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.3)
writer = SummaryWriter("logs/first")
for epoch in range(15):
    scores = net(rows)
    loss = nn.functional.cross_entropy(scores, kinds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    accuracy = (scores.argmax(1) == kinds).float().mean()
    writer.add_scalar("loss", loss.item(), epoch)
    writer.add_scalar("accuracy", accuracy.item(), epoch)
writer.close()
print("learned:", accuracy.item() > 0.8)
