"""Meta-learning in the MAML manner: inner steps through functional_call, one outer optimizer."""
import torch
from torch import nn
from torch.func import functional_call


def sine_task():
    amplitude, phase = torch.rand(()) * 2 + 1, torch.rand(()) * 3.14

    def draw(n=16):
        x = torch.rand(n, 1) * 6 - 3
        return x, amplitude * torch.sin(x + phase)

    return draw


def adapt(model, params, x, y, lr=0.05):
    loss = nn.functional.mse_loss(functional_call(model, params, (x,)), y)
    grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
    return {name: p - lr * g for (name, p), g in zip(params.items(), grads)}


torch.manual_seed(4)
model = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
outer = torch.optim.Adam(model.parameters(), lr=3e-3)
for iteration in range(120):
    outer.zero_grad()
    meta_loss = 0.0
    for _ in range(3):
        draw = sine_task()
        fast = adapt(model, dict(model.named_parameters()), *draw())
        x, y = draw()
        meta_loss = meta_loss + nn.functional.mse_loss(functional_call(model, fast, (x,)), y) / 3
    meta_loss.backward()
    outer.step()
    if iteration % 20 == 0:
        print(f"meta-iteration {iteration}: {meta_loss.item():.4f}")
