"""Skip-gram word vectors with sparse gradients and SparseAdam."""
import random

import torch
import torch.nn.functional as F
from torch import nn


class SkipGram(nn.Module):
    def __init__(self, vocab, dim=16):
        super().__init__()
        self.center = nn.Embedding(vocab, dim, sparse=True)
        self.context = nn.Embedding(vocab, dim, sparse=True)
        nn.init.uniform_(self.center.weight, -0.1, 0.1)
        nn.init.uniform_(self.context.weight, -0.1, 0.1)

    def forward(self, center, positive, negative):
        c = self.center(center)
        good = (c * self.context(positive)).sum(-1)
        bad = torch.bmm(self.context(negative), c.unsqueeze(2)).squeeze(2)
        return -(F.logsigmoid(good).mean() + F.logsigmoid(-bad).sum(1).mean())


random.seed(0)
torch.manual_seed(0)
topics = [range(i * 20, i * 20 + 20) for i in range(10)]
model = SkipGram(vocab=200)
optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=2e-2)
for step in range(1, 301):
    pairs = [random.sample(random.choice(topics), 2) for _ in range(64)]
    center, positive = torch.tensor(pairs).unbind(1)
    negative = torch.randint(0, 200, (64, 4))
    optimizer.zero_grad()
    loss = model(center, positive, negative)
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print("{:>4}/300  loss={:.4f}".format(step, loss.item()))
