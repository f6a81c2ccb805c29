"""Masked tokens: the targets are the sentence itself, the input has a fifth of it hidden."""
import torch
import torch.nn.functional as F
from torch import nn

VOCAB, MASK = 30, 30


class Filler(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB + 1, width)
        self.block = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(width, VOCAB)

    def forward(self, tokens):
        return self.head(self.block(self.embed(tokens)))


torch.manual_seed(5)
model = Filler()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(100):
    first = torch.randint(0, VOCAB, (32, 1))
    sentence = (first + 3 * torch.arange(12)) % VOCAB
    hidden = torch.rand(32, 12) < 0.2
    loss = F.cross_entropy(model(sentence.masked_fill(hidden, MASK)).view(-1, VOCAB), sentence.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
