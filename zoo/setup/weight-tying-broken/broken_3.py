"""Language model with shared input and output vectors whose vocabulary grows once."""
import torch
import torch.nn.functional as F
from torch import nn


class LM(nn.Module):
    def __init__(self, vocab, width=32):
        super().__init__()
        self.tok = nn.Embedding(vocab, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, vocab, bias=False)
        self.tie_weights()

    def tie_weights(self):
        self.head.weight = self.tok.weight

    def forward(self, ids):
        out, _ = self.rnn(self.tok(ids))
        return self.head(out)


def grow_vocabulary(model, size):
    old = model.tok.weight.data
    tok = nn.Embedding(size, old.shape[1])
    head = nn.Linear(old.shape[1], size, bias=False)
    tok.weight.data[: len(old)] = old
    head.weight.data[: len(old)] = old
    model.tok, model.head = tok, head


def text(vocab, n=32, length=12):
    start = torch.randint(0, vocab, (n, 1))
    step = torch.randint(1, 4, (n, 1))
    return (start + step * torch.arange(length)) % vocab


def fit(model, vocab, steps):
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(steps):
        ids = text(vocab)
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


torch.manual_seed(23)
lm = LM(30)
print("small vocabulary", fit(lm, 30, 80))
grow_vocabulary(lm, 40)
print("grown vocabulary", fit(lm, 40, 80))
