# multi-task regression: one trunk, one small decoder per property
import torch
import torch.nn as nn

torch.manual_seed(3)
TASKS = ["density", "viscosity", "toxicity", "logp"]
D = 24


class PropertyNet(nn.Module):
    def __init__(self, d_in, width, tasks):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(d_in, width), nn.Tanh(),
        )
        self.decoders = {}
        for t in tasks:
            self.decoders[t] = nn.Sequential(nn.Linear(width, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, x):
        z = self.trunk(x)
        return {t: dec(z).squeeze(-1) for t, dec in self.decoders.items()}


def synth(n):
    x = torch.randn(n, D)
    ys = {}
    for k, t in enumerate(TASKS):
        w = W[k]
        ys[t] = 2.0 * torch.tanh(x @ w[0]) + (x @ w[1]) * torch.sigmoid(x @ w[2]) + 0.05 * torch.randn(n)
    return x, ys


W = [[torch.randn(D) / D ** 0.5 for _ in range(3)] for _ in TASKS]
x_tr, y_tr = synth(4000)
x_te, y_te = synth(1000)

net = PropertyNet(D, 14, TASKS)
optim = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-4)
print("parameters:", sum(p.numel() for p in net.parameters()))

step = 0
for epoch in range(5):
    for idx in torch.randperm(len(x_tr)).split(80):
        out = net(x_tr[idx])
        losses = {t: nn.functional.mse_loss(out[t], y_tr[t][idx]) for t in TASKS}
        loss = sum(losses.values())
        optim.zero_grad()
        loss.backward()
        optim.step()
        step += 1
        if step % 50 == 0:
            print(step, " ".join(f"{t}:{l.item():.3f}" for t, l in losses.items()))

net.eval()
with torch.no_grad():
    out = net(x_te)
    r2 = {t: 1 - ((out[t] - y_te[t]) ** 2).mean().item() / y_te[t].var().item() for t in TASKS}
print("test R2", {t: round(v, 3) for t, v in r2.items()}, "mean", round(sum(r2.values()) / len(r2), 3))
