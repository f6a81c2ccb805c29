"""Polynomial network: a product of low-rank factors written with raw parameters."""
import torch
from torch import nn


class PolyNet(nn.Module):
    def __init__(self, inputs, rank, degree, outputs):
        super().__init__()
        self.factors = nn.ParameterList(torch.randn(inputs, rank) / inputs ** 0.5 for _ in range(degree))
        self.mix = nn.Parameter(torch.randn(rank, outputs) / rank)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        product = x @ self.factors[0]
        for factor in self.factors[1:]:
            product = product * (x @ factor)
        return product @ self.mix + self.bias


def training_loop(model, sample, loss_fn, optimizer, iterations):
    for iteration in range(iterations):
        inputs, targets = sample()
        loss = loss_fn(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield iteration, loss.item()


def sample():
    x = torch.randn(128, 12)
    return x, x[:, :1] * x[:, 1:2] + x[:, 2:3] * x[:, 3:4]


torch.manual_seed(14)
net = PolyNet(12, 16, 2, 1)
optimizer = torch.optim.Adagrad(net.parameters(), lr=0.05)
for i, value in training_loop(net, sample, nn.MSELoss(), optimizer, 300):
    if i % 60 == 0:
        print(i, round(value, 4))
