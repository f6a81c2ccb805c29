"""Sequence tagging with an encoder and a decoder kept as two modules."""
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, vocab=30, dim=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.mix = nn.Linear(dim, dim)

    def forward(self, tokens):
        return torch.relu(self.mix(self.embed(tokens).mean(dim=1)))


class Decoder(nn.Module):
    def __init__(self, dim=24, hidden=32, out=12):
        super().__init__()
        self.up = nn.Linear(dim, hidden)
        self.out = nn.Linear(hidden, out)

    def forward(self, code):
        return self.out(torch.relu(self.up(code)))


def batches(steps, batch=64):
    for _ in range(steps):
        tokens = torch.randint(0, 30, (batch, 8))
        histogram = torch.zeros(batch, 12)
        histogram.scatter_add_(1, tokens % 12, torch.ones(batch, 8))
        yield tokens, 3 * histogram


def train(steps=250):
    torch.manual_seed(5)
    encoder = Encoder()
    decoder = Decoder()
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=5e-3)
    mse = nn.MSELoss()
    for step, (tokens, wanted) in enumerate(batches(steps), start=1):
        optimizer.zero_grad()
        loss = mse(decoder(encoder(tokens)), wanted)
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"{step}: {loss.item():.3f}")


if __name__ == "__main__":
    train()
