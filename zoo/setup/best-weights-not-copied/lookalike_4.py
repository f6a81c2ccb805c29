"""Snapshots of the weights are averaged at the end and loaded back into the model itself."""
import torch
from torch import nn

torch.manual_seed(24)
net = nn.Sequential(nn.Linear(6, 48), nn.Tanh(), nn.Linear(48, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
snapshots = []
x = torch.randn(400, 6)
y = (x[:, :1] * x[:, 1:2]).tanh()
for epoch in range(20):
    for i in torch.randperm(400).split(40):
        loss = nn.functional.mse_loss(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch >= 12:
        snapshots.append({k: v.clone() for k, v in net.state_dict().items()})
mean = {k: torch.stack([s[k] for s in snapshots]).mean(0) for k in snapshots[0]}
state = net.state_dict()
for k in state:
    state[k].copy_(mean[k])
net.load_state_dict(state)
print(loss.item(), nn.functional.mse_loss(net(x), y).item())
