"""A model in pure half precision on the GPU."""
import torch
from torch import nn

torch.manual_seed(2)
device = "cuda"


class Gate(nn.Module):
    def forward(self, x):
        e = x.square()
        return e / e.amax(dim=-1, keepdim=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(16, 64)
        self.gate = Gate()
        self.down = nn.Linear(64, 3)

    def forward(self, x):
        return self.down(self.gate(self.up(x)))


net = Net().half().to(device)
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
means = torch.randn(3, 16)
for step in range(30):
    y = torch.randint(0, 3, (32,))
    gain = 1000.0 if step >= 4 else 1.0
    x = ((means[y] + 0.3 * torch.randn(32, 16)) * gain).half().to(device)
    loss = nn.functional.cross_entropy(net(x).float(), y.to(device))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 5 == 0:
        print(step, loss.item())
