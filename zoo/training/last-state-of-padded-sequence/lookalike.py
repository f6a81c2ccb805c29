"""The same kind of messages, padded in front: the last step is the last word of every message."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader

torch.manual_seed(4)
TOPICS, WORDS = 4, 50


def write_message():
    topic = int(torch.randint(0, TOPICS, (1,)))
    length = 24 if torch.rand(1) < 0.2 else int(torch.randint(4, 10, (1,)))
    words = torch.randint(TOPICS * 4 + 1, WORDS, (length,))
    spots = torch.randperm(min(length, 9))[:2]
    words[spots] = 1 + topic * 4 + torch.randint(0, 4, (2,))
    return words, topic


def pad_in_front(messages):
    longest = max(len(words) for words, _ in messages)
    padded = torch.zeros(len(messages), longest, dtype=torch.long)
    for row, (words, _) in enumerate(messages):
        padded[row, longest - len(words) :] = words
    return padded, torch.tensor([topic for _, topic in messages])


class Classifier(nn.Module):
    def __init__(self, size=24, hidden=40):
        super().__init__()
        self.embed = nn.Embedding(WORDS, size, padding_idx=0)
        self.gru = nn.GRU(size, hidden, batch_first=True)
        self.out = nn.Linear(hidden, TOPICS)

    def forward(self, words):
        states, _ = self.gru(self.embed(words))
        return self.out(states[:, -1])


loader = DataLoader([write_message() for _ in range(480)], batch_size=40, shuffle=True, collate_fn=pad_in_front)
model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(4):
    total = 0.0
    for words, topics in loader:
        loss = nn.functional.cross_entropy(model(words), topics)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / len(loader):.3f}")
