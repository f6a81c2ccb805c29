"""Tag the words of sentences of different lengths with a small GRU."""
import random

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

TAGS = 4


def sentence(rng):
    words = [rng.randrange(1, 40) for _ in range(rng.randint(4, 12))]
    return torch.tensor(words), torch.tensor([word % TAGS for word in words])


def collate(samples):
    words, tags = zip(*samples)
    return (
        pad_sequence(words, batch_first=True, padding_value=0),
        pad_sequence(tags, batch_first=True, padding_value=-1),
    )


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(40, 16, padding_idx=0)
        self.gru = nn.GRU(16, 32, batch_first=True, bidirectional=True)
        self.out = nn.Linear(64, TAGS)

    def forward(self, words):
        hidden, _ = self.gru(self.embed(words))
        return self.out(hidden)


def main():
    torch.manual_seed(2)
    rng = random.Random(2)
    data = [sentence(rng) for _ in range(240)]
    loader = torch.utils.data.DataLoader(data, batch_size=24, shuffle=True, collate_fn=collate)
    model = Tagger()
    criterion = nn.CrossEntropyLoss(ignore_index=-1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(6):
        for words, tags in loader:
            logits = model(words)
            loss = criterion(logits.reshape(-1, TAGS), tags.reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("epoch", epoch, f"{loss.item():.4f}")


if __name__ == "__main__":
    main()
