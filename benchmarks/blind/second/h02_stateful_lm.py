"""Stateful LSTM language model, time-major, truncated BPTT."""
import math
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(1111)
rng = np.random.RandomState(1111)
V = 20
P = rng.dirichlet(np.full(V, 0.08), size=(V, V))


def corpus(n):
    out = [0, 1]
    for _ in range(n - 2):
        out.append(rng.choice(V, p=P[out[-2] % 3, out[-1]]))
    return torch.tensor(out)


def batchify(data, bsz):
    nb = data.size(0) // bsz
    return data[:nb * bsz].view(bsz, -1).t().contiguous()


def repackage(h):
    return tuple(v.detach() for v in h)


class RNNModel(nn.Module):
    def __init__(self, d=32, h=64):
        super().__init__()
        self.drop = nn.Dropout(0.1)
        self.enc = nn.Embedding(V, d)
        self.rnn = nn.LSTM(d, h)
        self.dec = nn.Linear(h, V)
        self.h = h

    def init_hidden(self, bsz):
        w = next(self.parameters())
        return w.new_zeros(1, bsz, self.h), w.new_zeros(1, bsz, self.h)

    def forward(self, x, hidden):
        o, hidden = self.rnn(self.drop(self.enc(x)), hidden)
        return self.dec(self.drop(o)).view(-1, V), hidden


BPTT, BS = 12, 20
train_data, val_data = batchify(corpus(20000), BS), batchify(corpus(3000), BS)
model = RNNModel()
crit = nn.CrossEntropyLoss()
opt = torch.optim.SGD(model.parameters(), lr=20.0)


def get(src, i):
    n = min(BPTT, len(src) - 1 - i)
    return src[i:i + n], src[i + 1:i + 1 + n].reshape(-1)


def evaluate():
    model.eval()
    tot, h = 0.0, model.init_hidden(BS)
    with torch.no_grad():
        for i in range(0, len(val_data) - 1, BPTT):
            x, y = get(val_data, i)
            o, h = model(x, h)
            tot += len(x) * crit(o, y).item()
    return tot / (len(val_data) - 1)


for epoch in range(3):
    model.train()
    hidden = model.init_hidden(BS)
    acc, n = 0.0, 0
    for i in range(0, len(train_data) - 1, BPTT):
        x, y = get(train_data, i)
        hidden = repackage(hidden)
        model.zero_grad()
        out, hidden = model(x, hidden)
        loss = crit(out, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        opt.step()
        acc += loss.item()
        n += 1
    print(f"| end of epoch {epoch} | train ppl {math.exp(acc / n):.2f} | valid ppl {math.exp(evaluate()):.2f}")
