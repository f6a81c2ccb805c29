# Masked-token model with given word vectors; the output layer shares them.
import torch
from torch import nn
import torch.nn.functional as F


class Filler(nn.Module):
    def __init__(self, vectors):
        super().__init__()
        words, dim = vectors.shape
        self.words = nn.Embedding(words, dim)
        self.mix = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.decoder = nn.Linear(dim, words)
        self.words = nn.Embedding.from_pretrained(vectors, freeze=False)
        self.decoder.weight = self.words.weight

    def forward(self, tokens):
        return self.decoder(self.mix(self.words(tokens).mean(dim=1)))


def train(steps):
    torch.manual_seed(2)
    vectors = torch.randn(30, 20)
    model = Filler(vectors.clone())
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(steps):
        start = torch.randint(0, 30, (48, 1))
        tokens = (start + torch.arange(5)) % 30
        hidden = tokens[:, 2].clone()
        loss = F.cross_entropy(model(tokens[:, [0, 1, 3, 4]]), hidden)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(step, round(loss.item(), 4))


train(200)
