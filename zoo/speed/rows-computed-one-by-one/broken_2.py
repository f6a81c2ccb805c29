# Word vectors from a small corpus: each word should score higher than the words drawn beside it.
import torch
import torch.nn.functional as F
from torch import nn


class WordVectors(nn.Module):
    def __init__(self, words=500, dim=24):
        super().__init__()
        self.center = nn.Embedding(words, dim)
        self.context = nn.Embedding(words, dim)

    def forward(self, center, choices):
        return self.center(center), self.context(choices)


def ranking_loss(words, choices, right):
    total = torch.zeros(())
    for word, others, first in zip(words, choices, right):
        scores = others @ word
        total += F.cross_entropy(scores.unsqueeze(0), first.unsqueeze(0))
    return total / len(words)


def main():
    torch.manual_seed(1)
    model = WordVectors()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    right = torch.zeros(96, dtype=torch.long)
    for step in range(400):
        center = torch.randint(0, 500, (96,))
        choices = torch.randint(0, 500, (96, 6))
        choices[:, 0] = (center * 7 + 3) % 500
        words, vectors = model(center, choices)
        loss = ranking_loss(words, vectors, right)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print("step", step, "loss", round(loss.item(), 4))


main()
