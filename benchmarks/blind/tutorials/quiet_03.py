"""MAML for sine waves with functional parameters."""
import torch
from torch import nn
from torch.func import functional_call

torch.set_num_threads(1)
torch.manual_seed(2)

CFG = {"inner_lr": 0.05, "inner_steps": 2, "outer_lr": 2e-3, "tasks": 6, "shots": 10, "iterations": 120}


class SineNet(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x):
        return self.body(x)


def draw_task():
    amp = 0.5 + 1.5 * torch.rand(1)
    phase = 3.14 * torch.rand(1)

    def sample(n):
        x = 10 * torch.rand(n, 1) - 5
        return x, amp * torch.sin(x + phase)

    return sample


def adapt(net, params, x, y, create_graph=True):
    for _ in range(CFG["inner_steps"]):
        loss = nn.functional.mse_loss(functional_call(net, params, (x,)), y)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=create_graph)
        params = {k: p - CFG["inner_lr"] * g for (k, p), g in zip(params.items(), grads)}
    return params


net = SineNet()
meta_opt = torch.optim.Adam(net.parameters(), lr=CFG["outer_lr"])
window = []
for it in range(CFG["iterations"]):
    meta_loss = 0.0
    for _ in range(CFG["tasks"]):
        task = draw_task()
        fast = adapt(net, dict(net.named_parameters()), *task(CFG["shots"]))
        xq, yq = task(20)
        meta_loss = meta_loss + nn.functional.mse_loss(functional_call(net, fast, (xq,)), yq)
    meta_loss = meta_loss / CFG["tasks"]
    meta_opt.zero_grad()
    meta_loss.backward()
    meta_opt.step()
    window.append(meta_loss.item())
    if it % 40 == 39:
        print(f"iteration {it + 1} query loss {sum(window[-40:]) / 40:.3f}")
