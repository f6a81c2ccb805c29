"""Samples sentences from a small language model with repetition scores that are turned into probabilities."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, words=12):
        super().__init__()
        self.embed = nn.Embedding(words, 16)
        self.rnn = nn.GRU(16, 32, batch_first=True)
        self.out = nn.Linear(32, words)

    def forward(self, ids):
        hidden, _ = self.rnn(self.embed(ids))
        return self.out(hidden)


def weigh(probs, seen):
    allowed = probs * (1 - seen)
    return allowed / allowed.sum(-1, keepdim=True)


def sample(model, length):
    ids = torch.zeros(2, 1, dtype=torch.long)
    seen = torch.zeros(2, 12)
    for _ in range(length):
        with torch.no_grad():
            probs = torch.softmax(model(ids)[:, -1], dim=-1)
        weights = weigh(probs, seen)
        chosen = torch.multinomial(weights, 1)
        seen.scatter_(1, chosen, 1.0)
        ids = torch.cat([ids, chosen], dim=1)
    return ids


def main():
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    text = torch.arange(96).view(8, 12) % 12
    for step in range(30):
        logits = model(text[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")
    print(sample(model, 14).tolist())


if __name__ == "__main__":
    main()
