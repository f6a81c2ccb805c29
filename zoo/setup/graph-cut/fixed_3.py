"""Bag-of-words regression: an embedding, a mean, two linear layers."""
import torch
from torch import nn


class Words(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.table = nn.Embedding(vocab, dim)
        self.mix = nn.Linear(dim, dim)

    def forward(self, tokens):
        return torch.tanh(self.mix(self.table(tokens).mean(dim=1)))


class Score(nn.Module):
    def __init__(self, vocab=40, dim=16):
        super().__init__()
        self.words = Words(vocab, dim)
        self.out = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, tokens):
        return self.out(self.words(tokens)).squeeze(1)


class Run:
    def __init__(self):
        torch.manual_seed(6)
        self.worth = torch.randn(40)
        self.net = Score()
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=1e-2)

    def step(self):
        tokens = torch.randint(0, 40, (64, 6))
        loss = nn.functional.mse_loss(self.net(tokens), self.worth[tokens].sum(dim=1))
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


if __name__ == "__main__":
    run = Run()
    for i in range(300):
        loss = run.step()
        if i % 60 == 0:
            print(i, round(loss, 4))
