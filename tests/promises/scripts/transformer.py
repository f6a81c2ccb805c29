"""A transformer encoder that trains and validates by turns; validation takes torch's fast path."""

import torch
from fingerprint import STEPS, finish, start
from torch import nn


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 32, padding_idx=0)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(32, 50)

    def forward(self, tokens):
        return self.head(self.encoder(self.embedding(tokens), src_key_padding_mask=tokens == 0))


def validate(reader, criterion, frozen):
    reader.eval()
    tokens = torch.randint(1, 50, (4, 9))
    tokens[0, 6:] = 0
    with torch.no_grad():
        output = reader(tokens)
        loss = criterion(output.flatten(0, 1), tokens.flatten())
    with torch.inference_mode():
        again = reader(tokens)
    with_gradients_on = frozen(tokens)  # none of its parameters wants one: the fast path as well
    reader.train()
    return [output, loss, again.clone(), with_gradients_on]


start()
reader, frozen = Reader(), Reader().eval().requires_grad_(False)
optimizer = torch.optim.AdamW(reader.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss(ignore_index=0)
losses, outputs = [], []
for step in range(STEPS):
    tokens = torch.randint(1, 50, (8, 9))
    optimizer.zero_grad()
    loss = criterion(reader(tokens).flatten(0, 1), (3 * tokens % 50).flatten())
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 3 == 0:
        outputs += validate(reader, criterion, frozen)
finish([reader, frozen], [optimizer], outputs, losses)
