"""Scores sentences by attention pooling over their words; short sentences are filled up with zeros."""

import torch
from torch import nn

torch.manual_seed(6)
VOCABULARY = 60


def sentences(count):
    labels = torch.randint(0, 2, (count,))
    lengths = torch.where(torch.rand(count) < 0.2, 24, torch.randint(4, 8, (count,)))
    words = torch.randint(12, VOCABULARY, (count, 24))
    words[torch.arange(count), torch.randint(0, 4, (count,))] = 2 + 5 * labels + torch.randint(0, 5, (count,))
    return words * (torch.arange(24) < lengths.unsqueeze(1)), labels


class Pooling(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.score = nn.Linear(width, 1)
        self.classify = nn.Linear(width, 2)

    def forward(self, words):
        valid = (words != 0).float()
        states = self.embedding(words)
        weights = torch.softmax(self.score(torch.tanh(states)).squeeze(-1) * valid, dim=1)
        return self.classify((weights.unsqueeze(-1) * states).sum(dim=1))


def main():
    net = Pooling()
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    for step in range(160):
        words, labels = sentences(48)
        loss = nn.functional.cross_entropy(net(words), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 39:
            print(f"step {step + 1}: loss {loss.item():.4f}")


main()
