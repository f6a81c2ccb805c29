"""Gated recurrent cell written by hand; predicts the next value of a noisy wave."""
import torch
from torch import nn


class GatedCell(nn.Module):
    def __init__(self, n_in, n_hidden):
        super().__init__()
        self.gate = nn.Linear(n_in + n_hidden, n_hidden)
        self.cand = nn.Linear(n_in + n_hidden, n_hidden)

    def forward(self, x, h):
        both = torch.cat([x, h], dim=-1)
        g = torch.sigmoid(self.gate(both))
        c = torch.tanh(self.cand(both))
        g *= c
        return h + g - h * torch.sigmoid(self.gate(both))


class Forecaster(nn.Module):
    def __init__(self, n_hidden=24):
        super().__init__()
        self.n_hidden = n_hidden
        self.cell = GatedCell(1, n_hidden)
        self.readout = nn.Linear(n_hidden, 1)

    def forward(self, seq):
        h = seq.new_zeros(seq.size(0), self.n_hidden)
        preds = []
        for t in range(seq.size(1)):
            h = self.cell(seq[:, t:t + 1], h)
            preds.append(self.readout(h))
        return torch.cat(preds, dim=1)


def waves(n, length=25):
    start = torch.rand(n, 1) * 6.28
    speed = 0.2 + 0.4 * torch.rand(n, 1)
    t = torch.arange(length + 1).float()
    return torch.sin(start + speed * t) + 0.05 * torch.randn(n, length + 1)


def fit():
    torch.set_num_threads(1)
    torch.manual_seed(6)
    data = waves(480)
    model = Forecaster()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(10):
        for ids in torch.randperm(len(data)).split(48):
            seq = data[ids]
            loss = nn.functional.mse_loss(model(seq[:, :-1]), seq[:, 1:])
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
        print("epoch", epoch, "mse", round(loss.item(), 4))


fit()
