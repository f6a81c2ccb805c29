"""A recurrent cell written by hand counts parity-like events in short sequences."""
import torch
from torch import nn


class HandCell(nn.Module):
    def __init__(self, n_in, n_hidden):
        super().__init__()
        self.w_in = nn.Parameter(torch.randn(n_in, n_hidden) / n_in**0.5)
        self.w_rec = nn.Parameter(torch.randn(n_hidden, n_hidden) / n_hidden**0.5)
        self.bias = nn.Parameter(torch.zeros(n_hidden))
        self.tanh = nn.Tanh()

    def forward(self, x, h):
        return self.tanh(x @ self.w_in + h @ self.w_rec + self.bias)


class Reader(nn.Module):
    def __init__(self, n_in=8, n_hidden=128):
        super().__init__()
        self.cell = HandCell(n_in, n_hidden)
        self.head = nn.Linear(n_hidden, 4)
        self.n_hidden = n_hidden

    def forward(self, seq):
        h = seq.new_zeros(seq.size(0), self.n_hidden)
        for t in range(seq.size(1)):
            h = self.cell(seq[:, t], h)
        return self.head(h)


torch.manual_seed(0)
model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(250):
    seq = torch.randn(32, 12, 8)
    target = (seq[:, :6, 0].mean(1) > 0).long() * 2 + (seq[:, 6:, 1].mean(1) > 0).long()
    loss = nn.functional.cross_entropy(model(seq), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
