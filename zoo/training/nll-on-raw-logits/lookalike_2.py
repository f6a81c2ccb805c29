"""Cross-entropy written out: the score of the right class against the logsumexp of all."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(8)
net = nn.Sequential(nn.Linear(6, 40), nn.ReLU(), nn.Linear(40, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for step in range(200):
    x = torch.randn(80, 6)
    y = (x[:, 0] > 0.4).long() + (x[:, 1] * x[:, 2] > 0.2).long()
    energy = net(x)
    loss = F.nll_loss(energy, y) + torch.logsumexp(energy, dim=1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0:
        print(f"step {step}: {loss.item():.4f}")
