"""Word embeddings trained with Adam."""
import torch
from torch import nn

torch.manual_seed(19)


class CBOW(nn.Module):
    def __init__(self, vocab, d):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.out = nn.Linear(d, vocab)

    def forward(self, ctx):
        return self.out(self.emb(ctx).mean(1))


def corpus(n, vocab):
    start = torch.randint(0, vocab - 5, (n,))
    win = start[:, None] + torch.arange(5)
    return win[:, [0, 1, 3, 4]], win[:, 2]


model = CBOW(30, 12)
opt = torch.optim.Adam(model.parameters(), lr=1e-2, betas=(0.9, 0.99), eps=1e-8)
for step in range(60):
    ctx, mid = corpus(8, 30)
    loss = nn.functional.cross_entropy(model(ctx), mid)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, loss.item())
