"""Which of five topics is a message about? A GRU over word numbers, messages of very different lengths."""

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(11)
TOPICS, WORDS = 5, 60


def write_message():
    topic = int(torch.randint(0, TOPICS, (1,)))
    length = 30 if torch.rand(1) < 0.1 else int(torch.randint(4, 10, (1,)))
    words = torch.randint(TOPICS * 4 + 1, WORDS, (length,))
    spots = torch.randperm(min(length, 9))[:2]
    words[spots] = 1 + topic * 4 + torch.randint(0, 4, (2,))
    return words, topic


def collate(messages):
    words = [message for message, _ in messages]
    lengths = torch.tensor([len(message) for message in words])
    topics = torch.tensor([topic for _, topic in messages])
    return pad_sequence(words, batch_first=True), lengths, topics


class Classifier(nn.Module):
    def __init__(self, size=24, hidden=40):
        super().__init__()
        self.embed = nn.Embedding(WORDS, size, padding_idx=0)
        self.gru = nn.GRU(size, hidden, batch_first=True)
        self.out = nn.Linear(hidden, TOPICS)

    def forward(self, words, lengths):
        states, _ = self.gru(self.embed(words))
        last = states[:, -1]
        return self.out(last)


loader = DataLoader([write_message() for _ in range(600)], batch_size=40, shuffle=True, collate_fn=collate)
model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()

for epoch in range(5):
    total, right = 0.0, 0
    for words, lengths, topics in loader:
        scores = model(words, lengths)
        loss = criterion(scores, topics)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        right += (scores.argmax(1) == topics).sum().item()
    print(f"epoch {epoch}: loss {total / len(loader):.3f} accuracy {right / 600:.3f}")
