"""Sentiment of short reviews with a word table and an average over the words."""
import random

import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)

GOOD = ["great", "lovely", "superb", "fun"]
BAD = ["dull", "awful", "boring", "bad"]
PLAIN = ["the", "film", "was", "very"]
vocab = sorted(GOOD + BAD + PLAIN)
word_to_id = {word: index + 1 for index, word in enumerate(vocab)}


def make_review():
    label = random.randrange(2)
    words = random.choices(PLAIN, k=6) + random.choices(GOOD if label else BAD, k=2)
    random.shuffle(words)
    ids = []
    for word in words:
        ids.append(word_to_id[word])
    return ids, label


class Sentiment(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(len(vocab) + 1, 24)
        self.classifier = nn.Linear(24, 2)

    def forward(self, tokens):
        return self.classifier(self.embedding(tokens).mean(dim=1))


model = Sentiment()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(80):
    reviews, labels = zip(*(make_review() for _ in range(32)))
    loss = criterion(model(torch.tensor(reviews)), torch.tensor(labels))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
