"""Salary in euros from a CV, by the absolute error."""
import torch
from torch import nn


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(14, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.salary = nn.Linear(32, 1)

    def forward(self, x):
        return self.salary(self.body(x)).squeeze(1)


def main():
    torch.manual_seed(0)
    x = torch.randn(1500, 14)
    salary = 52_000 + 9_000 * torch.tanh(x[:, 0]) + 6_000 * x[:, 1] * (x[:, 2] > 0)
    net = TwoHeads()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for epoch in range(8):
        for part in torch.randperm(1500).split(50):
            loss = nn.functional.l1_loss(net(x[part]), salary[part])
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())


main()
