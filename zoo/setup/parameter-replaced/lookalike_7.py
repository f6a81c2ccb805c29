"""First-order MAML: the fast weights of a task are leaves of their own, used by functional_call."""
import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 1))


def shrink_last_layer():
    model[2].weight = nn.Parameter(0.5 * model[2].weight.detach())


shrink_last_layer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(100):
    optimizer.zero_grad()
    for _ in range(4):
        a, p = 1 + torch.rand(1), 3 * torch.rand(1)
        x = torch.rand(20, 1) * 6 - 3
        y = a * torch.sin(x + p)
        fast = {name: w.detach().clone().requires_grad_() for name, w in model.named_parameters()}
        for _ in range(3):
            inner = nn.functional.mse_loss(functional_call(model, fast, (x,)), y)
            grads = torch.autograd.grad(inner, list(fast.values()))
            fast = {n: (w - 0.02 * g).detach().requires_grad_() for (n, w), g in zip(fast.items(), grads)}
        outer = nn.functional.mse_loss(functional_call(model, fast, (x,)), y)
        outer.backward()
        for name, w in model.named_parameters():
            w.grad = fast[name].grad / 4 if w.grad is None else w.grad + fast[name].grad / 4
    optimizer.step()
print(outer.item())
