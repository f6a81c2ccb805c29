"""Second-order MAML: inner updates by hand, outer update with Adam."""
import torch
import torch.nn.functional as F

torch.manual_seed(6)
INNER_LR, TASKS, SHOTS = 0.1, 4, 10


def init(sizes):
    ps = []
    for i, o in zip(sizes[:-1], sizes[1:]):
        ps.append((torch.randn(i, o) * (2 / i) ** 0.5).requires_grad_())
        ps.append(torch.zeros(o, requires_grad=True))
    return ps


def net(ps, x):
    x = torch.relu(x @ ps[0] + ps[1])
    x = torch.relu(x @ ps[2] + ps[3])
    return x @ ps[4] + ps[5]


def task():
    amp, phase = 0.5 + 1.0 * torch.rand(1), 1.57 * torch.rand(1)
    return lambda n: (lambda x: (x, amp * torch.sin(1.5 * x + phase)))(4 * torch.rand(n, 1) - 2)


def adapt(ps, x, y, steps=2, create_graph=True):
    fast = list(ps)
    for _ in range(steps):
        grads = torch.autograd.grad(F.mse_loss(net(fast, x), y), fast, create_graph=create_graph)
        fast = [p - INNER_LR * g for p, g in zip(fast, grads)]
    return fast


def evaluate(ps, n_tasks=30):
    g = torch.get_rng_state()
    torch.manual_seed(999)
    before = after = 0.0
    for _ in range(n_tasks):
        sampler = task()
        xs, ys = sampler(SHOTS)
        xq, yq = sampler(50)
        fast = adapt(ps, xs, ys, steps=4, create_graph=False)
        with torch.no_grad():
            before += F.mse_loss(net(ps, xq), yq).item()
            after += F.mse_loss(net(fast, xq), yq).item()
    torch.set_rng_state(g)
    return before / n_tasks, after / n_tasks


params = init([1, 40, 40, 1])
outer = torch.optim.Adam(params, lr=3e-3)
print("start: before %.3f after adaptation %.3f" % evaluate(params))
for it in range(1, 201):
    meta = 0.0
    for _ in range(TASKS):
        sampler = task()
        fast = adapt(params, *sampler(SHOTS))
        xq, yq = sampler(SHOTS)
        meta = meta + F.mse_loss(net(fast, xq), yq)
    meta = meta / TASKS
    outer.zero_grad()
    meta.backward()
    torch.nn.utils.clip_grad_norm_(params, 10.0)
    outer.step()
    if it % 50 == 0:
        print("iter %d meta loss %.3f: before %.3f after adaptation %.3f" % (it, meta.item(), *evaluate(params)))
