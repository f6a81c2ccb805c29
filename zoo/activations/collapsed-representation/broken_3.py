"""Sentence vectors from pairs of paraphrases; cosine loss brings the pairs together."""
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, vocab=200, width=32):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab, width)
        self.mlp = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, ids):
        return self.mlp(self.bag(ids))


def paraphrases(n):
    topic = torch.randint(20, (n, 1)) * 10
    first = topic + torch.randint(10, (n, 8))
    second = topic + torch.randint(10, (n, 8))
    return first, second


class PairTrainer:
    def __init__(self, encoder):
        self.encoder = encoder
        self.loss = nn.CosineEmbeddingLoss()
        self.opt = torch.optim.Adam(encoder.parameters(), lr=2e-3)

    def step(self, a, b):
        together = torch.ones(len(a))
        loss = self.loss(self.encoder(a), self.encoder(b), together)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


torch.manual_seed(0)
trainer = PairTrainer(Encoder())
for i in range(300):
    value = trainer.step(*paraphrases(48))
    if i % 60 == 0:
        print(i, value)
with torch.no_grad():
    z = nn.functional.normalize(trainer.encoder(paraphrases(200)[0]), dim=1)
    print("mean similarity of strangers", (z @ z.T).mean().item())
