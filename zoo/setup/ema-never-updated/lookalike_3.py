"""An averaged model of torch's own, kept up to date after every step."""
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

torch.manual_seed(4)
net = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
ema = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.95))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(150):
    x = torch.randn(40, 5)
    loss = (net(x).squeeze(1) - x.sum(1).sin()).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update_parameters(net)
    if step % 30 == 0:
        print(step, round(loss.item(), 4))
