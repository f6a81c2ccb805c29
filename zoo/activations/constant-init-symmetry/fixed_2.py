"""A two-layer regression written with plain parameters, all of them zero at the start."""
import torch
import torch.nn.functional as F
from torch import nn


class TwoLayer(nn.Module):
    def __init__(self, inputs=5, hidden=40):
        super().__init__()
        self.w1 = nn.Parameter(0.4 * torch.randn(hidden, inputs))
        self.b1 = nn.Parameter(torch.zeros(hidden))
        self.w2 = nn.Parameter(0.15 * torch.randn(8, hidden))
        self.b2 = nn.Parameter(torch.zeros(8))

    def forward(self, x):
        hidden = F.relu(F.linear(x, self.w1, self.b1))
        return F.linear(hidden, self.w2, self.b2)


def main(steps=250):
    torch.manual_seed(1)
    truth = torch.randn(8, 5)
    model = TwoLayer()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for step in range(steps):
        x = torch.randn(64, 5)
        loss = F.mse_loss(model(x), x @ truth.T + 1.0)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("final loss", loss.item())


if __name__ == "__main__":
    main()
