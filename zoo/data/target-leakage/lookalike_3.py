"""Words with holes are made whole again: attention in both directions, and targets only where a hole is."""
import torch
from torch import nn

LETTERS, HOLE, LENGTH = 20, 20, 16


class Filler(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.letter = nn.Embedding(LETTERS + 1, width)
        self.place = nn.Embedding(LENGTH, width)
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.out = nn.Linear(width, LETTERS)

    def forward(self, ids):
        return self.out(self.body(self.letter(ids) + self.place(torch.arange(LENGTH))))


torch.manual_seed(0)
filler = Filler()
optimizer = torch.optim.Adam(filler.parameters(), lr=3e-3)
for step in range(150):
    words = (torch.randint(LETTERS, (32, 1)) + torch.arange(LENGTH) * torch.randint(1, 4, (32, 1))) % LETTERS
    holes = torch.rand(words.shape) < 0.15
    guess = filler(words.masked_fill(holes, HOLE))
    loss = nn.functional.cross_entropy(guess.flatten(0, 1), words.masked_fill(~holes, -100).flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(step, loss.item())
