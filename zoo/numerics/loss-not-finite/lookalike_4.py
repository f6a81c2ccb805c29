"""A small causal language model with a registered mask buffer."""
import torch
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.register_buffer("mask", torch.triu(torch.full((n, n), float("-inf")), diagonal=1))

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        t = x.size(1)
        att = q @ k.transpose(1, 2) / q.size(-1) ** 0.5 + self.mask[:t, :t]
        return self.out(att.softmax(-1) @ v)


class LM(nn.Module):
    def __init__(self, vocab=12, d=32, n=10):
        super().__init__()
        self.emb, self.pos = nn.Embedding(vocab, d), nn.Embedding(n, d)
        self.att, self.norm, self.head = CausalAttention(d, n), nn.LayerNorm(d), nn.Linear(d, vocab)

    def forward(self, ids):
        h = self.emb(ids) + self.pos.weight[: ids.size(1)]
        return self.head(self.norm(h + self.att(h)))


torch.manual_seed(0)
model = LM()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(150):
    ids = (torch.randint(0, 12, (32, 1)) + torch.randint(1, 3, (32, 1)) * torch.arange(10)) % 12
    logits = model(ids[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(step, loss.item())
print("final", loss.item())
