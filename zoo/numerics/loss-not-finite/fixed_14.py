"""Match short documents with their headlines by averaged word vectors."""
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.words = nn.Parameter(torch.randn(vocab, dim) * 0.1)
        self.proj = nn.Linear(dim, dim, bias=False)

    def forward(self, counts):
        return self.proj(counts @ self.words)


def similarity(a, b):
    a = a / a.norm(dim=1, keepdim=True).clamp_min(1e-8)
    b = b / b.norm(dim=1, keepdim=True).clamp_min(1e-8)
    return a @ b.t()


torch.manual_seed(8)
vocab, n = 60, 600
docs = torch.poisson(torch.full((n, vocab), 0.35))
headlines = (docs * (torch.rand(n, vocab) < 0.27)).clamp(max=1)
encoder = Encoder(vocab, 32)
opt = torch.optim.Adam(encoder.parameters(), lr=3e-3)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(4):
    for idx in torch.randperm(n).split(20):
        logits = similarity(encoder(docs[idx]), encoder(headlines[idx])) / 0.1
        loss = loss_fn(logits, torch.arange(len(idx)))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")
