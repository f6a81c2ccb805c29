"""Second-order MAML on sine waves with raw tensors and hand-written inner updates."""
import math
import torch

torch.manual_seed(90)


def init(sizes):
    params = []
    for a, b in zip(sizes, sizes[1:]):
        params.append((torch.randn(a, b) * math.sqrt(1 / a)).requires_grad_())
        params.append(torch.zeros(b, requires_grad=True))
    return params


def net(params, x):
    for i in range(0, len(params) - 2, 2):
        x = torch.relu(x @ params[i] + params[i + 1].unsqueeze(-2))
    return x @ params[-2] + params[-1].unsqueeze(-2)


def mse(params, x, y):
    return (net(params, x) - y).pow(2).mean(dim=(-1, -2)).sum()


def tasks(n, k):
    amp, ph = torch.rand(n, 1, 1) * 3 + 1, torch.rand(n, 1, 1) * math.pi
    x = torch.rand(n, 2 * k, 1) * 5 - 2.5
    y = amp * torch.sin(x + ph)
    return x[:, :k], y[:, :k], x[:, k:], y[:, k:]


def adapt(meta, x, y, lr=0.03, steps=2, create=True):
    n = x.size(0)
    fast = [p.unsqueeze(0).expand(n, *p.shape) for p in meta]
    for _ in range(steps):
        g = torch.autograd.grad(mse(fast, x, y), fast, create_graph=create)
        fast = [p - lr * d for p, d in zip(fast, g)]
    return fast


meta = init([1, 40, 40, 1])
opt = torch.optim.Adam(meta, lr=3e-3)
hist = []
for it in range(1, 301):
    xs, ys, xq, yq = tasks(16, 10)
    fast = adapt(meta, xs, ys)
    loss = mse(fast, xq, yq) / 16
    opt.zero_grad()
    loss.backward()
    opt.step()
    hist.append(loss.item())
    if it % 50 == 0:
        print(f"meta step {it}: query mse after adaptation {sum(hist[-50:]) / 50:.3f}")
xs, ys, xq, yq = tasks(100, 10)
after = adapt(meta, xs, ys, create=False)
with torch.no_grad():
    base = [p.unsqueeze(0).expand(100, *p.shape) for p in meta]
    print("before", mse(base, xq, yq).item() / 100, "after", mse(after, xq, yq).item() / 100)
