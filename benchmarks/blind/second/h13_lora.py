import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, r=4, alpha=8.0):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad = False
        self.A = nn.Parameter(torch.empty(r, base.in_features))
        self.B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))
        self.scale = alpha / r

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.A.t() @ self.B.t())


class ReZeroMLP(nn.Module):
    def __init__(self, d=24, n=4):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(d, d) for _ in range(n)])
        self.gate = nn.ParameterList([nn.Parameter(torch.zeros(1)) for _ in range(n)])
        self.out = nn.Linear(d, 3)

    def forward(self, x):
        for b, g in zip(self.blocks, self.gate):
            x = x + g * F.relu(b(x))
        return self.out(x)


def task(n, w):
    x = torch.randn(n, 24)
    return x, (F.relu(x @ w[0]) @ w[1]).argmax(1)


def fit(model, data, lr, steps, name):
    params = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.Adam(params, lr=lr)
    x, y = data
    for s in range(1, steps + 1):
        i = torch.randint(0, len(x), (64,))
        loss = F.cross_entropy(model(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if s % 60 == 0:
            print(f"{name} {s}: {loss.item():.4f}")


torch.manual_seed(31)
w0 = [torch.randn(24, 10), torch.randn(10, 3)]
w1 = [w0[0] + 0.1 * torch.randn(24, 1) @ torch.randn(1, 10), w0[1] + 0.8 * torch.randn(10, 3)]
net = ReZeroMLP()
fit(net, task(3000, w0), 5e-3, 240, "pretrain")
test = task(1500, w1)
with torch.no_grad():
    print("before", (net(test[0]).argmax(1) == test[1]).float().mean().item())
for p in net.parameters():
    p.requires_grad = False
net.blocks = nn.ModuleList([LoRALinear(b) for b in net.blocks])
net.out = LoRALinear(net.out, r=2)
fit(net, task(2000, w1), 5e-3, 240, "lora")
with torch.no_grad():
    print("after", (net(test[0]).argmax(1) == test[1]).float().mean().item())
