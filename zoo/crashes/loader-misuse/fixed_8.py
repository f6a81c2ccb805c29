"""Pairs of a question and an answer, padded to the longest of their batch."""

import random

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, count=80, words=50):
        draw = random.Random(0)
        self.rows = []
        for number in range(count):
            same = number % 2
            ask = [draw.randrange(1, words // 2) for _ in range(draw.randint(3, 9))]
            low, high = (1, words // 2) if same else (words // 2, words)
            self.rows.append((ask, [draw.randrange(low, high) for _ in range(draw.randint(3, 9))], same))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


def padded(rows):
    asks, answers, same = zip(*rows, strict=True)
    return {
        "ask": pad_sequence([torch.tensor(row) for row in asks], batch_first=True),
        "answer": pad_sequence([torch.tensor(row) for row in answers], batch_first=True),
        "same": torch.tensor(same, dtype=torch.float32),
    }


class Matcher(nn.Module):
    def __init__(self, words=50, width=16):
        super().__init__()
        self.words = nn.EmbeddingBag(words, width, padding_idx=0)
        self.score = nn.Linear(2 * width, 1)

    def forward(self, ask, answer):
        return self.score(torch.cat([self.words(ask), self.words(answer)], 1)).squeeze(1)


def main():
    torch.manual_seed(0)
    loader = DataLoader(Pairs(), batch_size=16, shuffle=True, collate_fn=padded)
    model = Matcher()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for epoch in range(8):
        total = 0.0
        for batch in loader:
            loss = nn.functional.binary_cross_entropy_with_logits(
                model(batch["ask"], batch["answer"]), batch["same"]
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(epoch, round(total / len(loader), 4))


main()
