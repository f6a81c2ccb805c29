"""LBFGS with a closure: gradients are made inside the step itself."""
import torch
from torch import nn

torch.manual_seed(6)
x = torch.linspace(0, 1, 100).unsqueeze(1)
y = (6 * x).sin()
net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 1))
optimizer = torch.optim.LBFGS(net.parameters(), max_iter=5, line_search_fn="strong_wolfe")


def closure():
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    return loss


for step in range(20):
    loss = optimizer.step(closure)
    optimizer.zero_grad()
print(loss.item())
