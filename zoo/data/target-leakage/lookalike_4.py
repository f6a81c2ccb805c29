"""Reads a word in both directions and writes it again, letter by letter: the answer is there on purpose."""
import torch
from torch import nn

LETTERS, LENGTH = 20, 12


class Copier(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.letter = nn.Embedding(LETTERS, width)
        self.place = nn.Embedding(LENGTH, width)
        self.both = nn.Transformer(width, 4, 1, 1, 64, dropout=0.0, batch_first=True)
        self.out = nn.Linear(width, LETTERS)

    def forward(self, word, written):
        places = self.place(torch.arange(LENGTH))
        mask = nn.Transformer.generate_square_subsequent_mask(written.shape[1])
        source, target = self.letter(word) + places, self.letter(written) + places[: written.shape[1]]
        return self.out(self.both(source, target, tgt_mask=mask))


torch.manual_seed(0)
copier = Copier()
optimizer = torch.optim.Adam(copier.parameters(), lr=3e-3)
for step in range(80):
    words = torch.randint(LETTERS, (32, LENGTH))
    again = copier(words, words[:, :-1])
    loss = nn.functional.cross_entropy(again.flatten(0, 1), words[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item())
