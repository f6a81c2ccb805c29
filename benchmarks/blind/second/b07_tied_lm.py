"""Small fixed-context LM with shared input/output embeddings on a large, thinly observed vocabulary."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
V, T, DIM = 900, 12, 48


def sample_docs(n):
    """each document is built from three words that keep coming back in a fixed rotation"""
    base = torch.randint(0, V, (n, 3))
    seq = base.repeat(1, T // 3 + 1)[:, :T + 1]
    flip = torch.rand(n, T + 1) < 0.03
    return torch.where(flip, torch.randint(0, V, (n, T + 1)), seq)


class ContextLM(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.encoder = nn.Embedding(vocab, dim)
        self.mix = nn.Linear(3 * dim, dim)
        self.decoder = nn.Linear(dim, vocab, bias=False)
        self.decoder.weight = self.encoder.weight
        self.init_weights()

    def init_weights(self):
        k = self.encoder.embedding_dim
        self.encoder.weight = nn.Parameter(torch.randn(V, k) * 0.3)
        nn.init.xavier_uniform_(self.mix.weight)
        nn.init.zeros_(self.mix.bias)

    def forward(self, x):
        e = self.encoder(x)
        pad = e.new_zeros(e.size(0), 2, e.size(2))
        e = torch.cat([pad, e], 1)
        ctx = torch.cat([e[:, 2:], e[:, 1:-1], e[:, :-2]], -1)
        return self.decoder(self.mix(ctx))


model = ContextLM(V, DIM)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
train = sample_docs(640)
valid = sample_docs(400)


def run_valid():
    model.eval()
    with torch.no_grad():
        out = model(valid[:, :-1])
        l = F.cross_entropy(out[:, 3:].reshape(-1, V), valid[:, 4:].reshape(-1)).item()
        a = (out[:, 3:].argmax(-1) == valid[:, 4:]).float().mean().item()
    model.train()
    return l, a


for epoch in range(1, 8):
    tot = 0.0
    for idx in torch.randperm(len(train)).split(32):
        b = train[idx]
        logits = model(b[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, V), b[:, 1:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
    vl, va = run_valid()
    print(f"| epoch {epoch} | train ppl {math.exp(tot / 20):9.2f} | valid loss {vl:.3f} | valid acc {va:.3f}")
