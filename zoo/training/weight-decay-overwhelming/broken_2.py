"""A small network learns a product of its inputs; written as a closure-based loop."""
import torch
from torch import nn


def make_trainer(model, lr, weight_decay):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, weight_decay=weight_decay, momentum=0.9)

    def train_step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x).squeeze(1), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return train_step


torch.manual_seed(4)
net = nn.Sequential(nn.Linear(4, 80), nn.Tanh(), nn.Linear(80, 40), nn.Tanh(), nn.Linear(40, 1))
step = make_trainer(net, lr=0.01, weight_decay=1.0)
losses = []
for iteration in range(250):
    x = torch.randn(64, 4)
    losses.append(step(x, x[:, 0] * x[:, 1] + x[:, 2]))
    if iteration % 50 == 0:
        print(iteration, round(losses[-1], 4))
