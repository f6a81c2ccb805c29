"""Padded sequences read by a GRU; what goes on is the mean over each row's own steps."""

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(8)
VOCABULARY = 40


def sentence():
    label = int(torch.randint(0, 2, (1,)))
    length = 24 if torch.rand(1) < 0.15 else int(torch.randint(5, 10, (1,)))
    words = torch.randint(9, VOCABULARY, (length,))
    words[int(torch.randint(0, 5, (1,)))] = 1 + 4 * label + int(torch.randint(0, 4, (1,)))
    return words, label


class MeanOfStates(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 16, padding_idx=0)
        self.encoder = nn.GRU(16, 24, batch_first=True, bidirectional=True)
        self.score = nn.Linear(48, 1)

    def forward(self, words):
        mask = (words != 0).unsqueeze(-1).float()
        states, _ = self.encoder(self.embedding(words))
        return self.score((states * mask).sum(1) / mask.sum(1)).squeeze(-1)


data = [sentence() for _ in range(360)]
model = MeanOfStates()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(5):
    order, losses = torch.randperm(len(data)).tolist(), []
    for start in range(0, len(data), 30):
        chosen = [data[i] for i in order[start : start + 30]]
        words = pad_sequence([words for words, _ in chosen], batch_first=True)
        labels = torch.tensor([float(label) for _, label in chosen])
        loss = nn.functional.binary_cross_entropy_with_logits(model(words), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch}: loss {sum(losses) / len(losses):.4f}")
