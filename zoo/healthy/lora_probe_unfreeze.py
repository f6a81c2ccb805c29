# Transfer learning: pretrain a base, then (a) linear probe on the frozen backbone, (b) LoRA adapters (B zero-init, base frozen),
# (c) gradual unfreezing with layer-wise learning rates and add_param_group.
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(20)
W0 = torch.randn(12, 5)


def batch(n, shift):
    x = torch.randn(n, 12)
    R = W0 if not shift else W0 + 0.8 * torch.roll(W0, 1, 0)
    return x, (torch.tanh(x) @ R + 0.3 * (x[:, :5] * x[:, 5:10])).argmax(1)


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2, self.head = nn.Linear(12, 64), nn.Linear(64, 64), nn.Linear(64, 5)

    def features(self, x):
        return F.relu(self.l2(F.relu(self.l1(x))))

    def forward(self, x):
        return self.head(self.features(x))


class LoRALinear(nn.Module):
    def __init__(self, base, r=4, alpha=8):
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


xv, yv = batch(1000, True)


def acc(m):
    with torch.no_grad():
        return (m(xv).argmax(1) == yv).float().mean().item()


def run(name, model, opt, steps, shift=True, hook=None):
    for s in range(steps):
        if hook:
            hook(s)
        x, y = batch(64, shift)
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if s % (steps // 3) == 0 or s == steps - 1:
            print(f"{name} {s} loss {loss.item():.4f} target acc {acc(model):.3f}")


base = Base()
run("pretrain", base, torch.optim.Adam(base.parameters(), lr=3e-3), 150, shift=False)

probe = copy.deepcopy(base)
probe.requires_grad_(False)
probe.head = nn.Linear(64, 5)
run("probe", probe, torch.optim.SGD(probe.head.parameters(), lr=0.1, momentum=0.9), 120)

lora = copy.deepcopy(base)
lora.requires_grad_(False)
lora.l1, lora.l2, lora.head = LoRALinear(lora.l1), LoRALinear(lora.l2), LoRALinear(lora.head)
trainable = [p for p in lora.parameters() if p.requires_grad]
print("trainable", sum(p.numel() for p in trainable), "of", sum(p.numel() for p in lora.parameters()))
run("lora", lora, torch.optim.AdamW(trainable, lr=5e-3), 150)

ft = copy.deepcopy(base)
for p in [*ft.l1.parameters(), *ft.l2.parameters()]:
    p.requires_grad = False
opt = torch.optim.Adam(ft.head.parameters(), lr=3e-3)


def unfreeze(step):
    for at, layer, lr in ((50, ft.l2, 1e-3), (100, ft.l1, 3e-4)):
        if step == at:
            for p in layer.parameters():
                p.requires_grad = True
            opt.add_param_group({"params": layer.parameters(), "lr": lr})
            print("unfroze at", step, "lr", lr)


run("gradual", ft, opt, 150, hook=unfreeze)
