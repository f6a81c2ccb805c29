"""bfloat16 autocast on the GPU with a hand-written likelihood."""
import torch
from torch import nn

torch.manual_seed(3)
device = "cuda"
net = nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.Linear(64, 1), nn.Sigmoid()).to(device)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
direction = torch.randn(20)


def nll(p, y):
    return -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()


for step in range(250):
    x = torch.randn(128, 20)
    y = (x @ direction > 0).float().unsqueeze(1).to(device)
    with torch.autocast(device_type=device, dtype=torch.bfloat16):
        loss = nll(net(x.to(device)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 0:
        print(step, loss.item())
