"""Character model with a small transformer, plain SGD with momentum and clipped gradient values."""
import torch
import torch.nn.functional as F
from torch import nn

HYPER = dict(lr=0.1, momentum=0.9, clip=0.1, steps=200)


class CharModel(nn.Module):
    def __init__(self, vocab=16, width=32, length=16):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, width), nn.Embedding(length, width)
        self.block = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.out = nn.Linear(width, vocab)

    def forward(self, ids):
        length = ids.shape[1]
        mask = torch.triu(torch.ones(length, length, dtype=torch.bool), 1)
        return self.out(self.block(self.tok(ids) + self.pos(torch.arange(length)), src_mask=mask))


def corpus(n, length=17):
    ids = torch.zeros(n, length, dtype=torch.long)
    ids[:, 0] = torch.randint(0, 16, (n,))
    for t in range(1, length):
        ids[:, t] = (3 * ids[:, t - 1] + 1 + (torch.rand(n) < 0.1).long()) % 16
    return ids


def train(h):
    torch.manual_seed(111)
    model = CharModel()
    optimizer = torch.optim.SGD(model.parameters(), lr=h["lr"], momentum=h["momentum"])
    for step in range(h["steps"]):
        ids = corpus(16)
        loss = F.cross_entropy(model(ids[:, :-1]).transpose(1, 2), ids[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), h["clip"])
        optimizer.step()
        if step % 40 == 0:
            print(step, loss.item())


train(HYPER)
