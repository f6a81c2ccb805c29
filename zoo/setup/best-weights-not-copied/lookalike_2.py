"""The current weights are handed to a second, fixed copy for evaluation, every few steps."""
import torch
from torch import nn

torch.manual_seed(5)


def build():
    return nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 2))


net, frozen = build(), build()
state = net.state_dict()
net.load_state_dict(state)
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(150):
    x = torch.randn(32, 6)
    labels = (x[:, 0] * x[:, 1] > 0).long()
    loss = nn.functional.cross_entropy(net(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0:
        frozen.load_state_dict(state)
        with torch.no_grad():
            print(step, (frozen(x).argmax(dim=1) == labels).float().mean().item())
