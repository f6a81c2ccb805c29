# MAML on sinusoids with torch.func.functional_call (inner-loop graph kept), then a hypernetwork whose target net has no parameters of its own.
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

torch.manual_seed(40)


def sample_task(k=10):
    amp, ph = 0.5 + 2 * torch.rand(1), torch.rand(1) * 3.14
    f = lambda x: amp * torch.sin(x + ph)
    xs, xq = torch.rand(k, 1) * 10 - 5, torch.rand(k, 1) * 10 - 5
    return xs, f(xs), xq, f(xq)


net = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
meta_opt = torch.optim.Adam(net.parameters(), lr=2e-3)


def adapt(params, xs, ys, lr=0.02, steps=2, create_graph=True):
    for _ in range(steps):
        loss = F.mse_loss(functional_call(net, params, (xs,)), ys)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=create_graph)
        params = {n: p - lr * g for (n, p), g in zip(params.items(), grads)}
    return params


avg_pre = avg_post = None
for it in range(120):
    meta_opt.zero_grad()
    outer = pre = 0.0
    for _ in range(2):
        xs, ys, xq, yq = sample_task()
        params = dict(net.named_parameters())
        with torch.no_grad():
            pre += F.mse_loss(net(xq), yq).item() / 2
        q = F.mse_loss(functional_call(net, adapt(params, xs, ys), (xq,)), yq) / 2
        q.backward()  # accumulates over tasks
        outer += q.item()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 10.0)
    meta_opt.step()
    avg_pre = pre if avg_pre is None else 0.95 * avg_pre + 0.05 * pre
    avg_post = outer if avg_post is None else 0.95 * avg_post + 0.05 * outer
    if it % 30 == 0 or it == 119:
        print(f"maml {it} before adapt {avg_pre:.3f} after adapt {avg_post:.3f}")


class HyperNet(nn.Module):
    def __init__(self, h=12):
        super().__init__()
        self.h = h
        self.body = nn.Sequential(nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 3 * h + 1))

    def forward(self, task, x):
        w = self.body(task)
        h = self.h
        w1, b1, w2, b2 = w[:, None, :h], w[:, None, h:2 * h], w[:, 2 * h:3 * h, None], w[:, None, -1:]
        return torch.tanh(x * w1 + b1) @ w2 + b2


hyper = HyperNet()
opt = torch.optim.Adam(hyper.parameters(), lr=5e-3)
for it in range(121):
    task = torch.rand(32, 2) + 0.5
    x = torch.rand(32, 16, 1) * 4 - 2
    y = task[:, None, :1] * torch.sin(task[:, None, 1:] * 1.5 * x)
    loss = F.mse_loss(hyper(task, x), y)
    opt.zero_grad(); loss.backward(); opt.step()
    if it % 30 == 0:
        print(f"hyper {it} loss {loss.item():.5f}")
