"""Translate made-up words into another alphabet: a GRU tags every letter, words are filled up with 0."""
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

PAD = 0
LETTERS = 30

generator = torch.Generator().manual_seed(0)
cipher = torch.cat([torch.zeros(1, dtype=torch.long), 1 + torch.randperm(LETTERS - 1, generator=generator)])


def make_words(n):
    words = []
    for _ in range(n):
        length = int(torch.randint(3, 16, (1,), generator=generator))
        words.append(torch.randint(1, LETTERS, (length,), generator=generator))
    return words


def collate(words):
    source = pad_sequence(words, batch_first=True, padding_value=PAD)
    target = pad_sequence([cipher[word] for word in words], batch_first=True, padding_value=PAD)
    return source, target


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(LETTERS, 24, padding_idx=PAD)
        self.rnn = nn.GRU(24, 40, batch_first=True)
        self.out = nn.Linear(40, LETTERS)

    def forward(self, source):
        states, _ = self.rnn(self.embed(source))
        return self.out(states)


torch.manual_seed(0)
loader = DataLoader(make_words(640), batch_size=32, shuffle=True, collate_fn=collate)
model = Translator()
criterion = nn.CrossEntropyLoss(ignore_index=PAD)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    for source, target in loader:
        scores = model(source)
        loss = criterion(scores.view(-1, LETTERS), target.view(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.3f}")
