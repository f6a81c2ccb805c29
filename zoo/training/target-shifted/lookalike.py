"""Sequence autoencoder: the targets are the inputs, but all goes through one code."""
import torch
import torch.nn.functional as F
from torch import nn


class AutoEncoder(nn.Module):
    def __init__(self, vocabulary=12, width=48):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.decoder = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        _, code = self.encoder(self.embed(tokens))
        repeated = code[0].unsqueeze(1).expand(-1, tokens.shape[1], -1)
        return self.head(self.decoder(repeated, code)[0])


torch.manual_seed(4)
model = AutoEncoder()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(100):
    tokens = torch.randint(0, 12, (32, 1)).add(torch.arange(7) * torch.randint(1, 4, (32, 1))) % 12
    loss = F.cross_entropy(model(tokens).transpose(1, 2), tokens)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
