# A recurrent cell written by hand has to recall a symbol from a few steps ago.
import torch
import torch.nn.functional as F
from torch import nn


class Cell(nn.Module):
    def __init__(self, n_in, n_hidden):
        super().__init__()
        self.read = nn.Linear(n_in, n_hidden)
        self.keep = nn.Linear(n_hidden, n_hidden, bias=False)
        nn.init.orthogonal_(self.keep.weight)

    def forward(self, x, state):
        return torch.tanh(self.read(x) + self.keep(state))


class Recall(nn.Module):
    def __init__(self, symbols=6, n_hidden=48):
        super().__init__()
        self.cell = Cell(symbols, n_hidden)
        self.answer = nn.Linear(n_hidden, symbols)
        self.n_hidden = n_hidden

    def forward(self, sequence):
        state = sequence.new_zeros(sequence.size(0), self.n_hidden)
        for x in sequence.unbind(1):
            state = self.cell(x, state)
        return self.answer(state)


def train(steps=150):
    torch.manual_seed(1)
    net = Recall()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for step in range(steps):
        symbols = torch.randint(0, 6, (32, 40))
        loss = F.cross_entropy(net(F.one_hot(symbols, 6).float()), symbols[:, -3])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        if step % 30 == 0:
            print(step, loss.item())


train()
