"""Which of five motifs does a song contain? A transformer encoder over its notes."""
import torch
from torch import nn


class Motif(nn.Module):
    def __init__(self, notes=30, width=32):
        super().__init__()
        self.note = nn.Embedding(notes, width)
        self.place = nn.Parameter(0.1 * torch.randn(18, width))
        layer = nn.TransformerEncoderLayer(width, 4, dim_feedforward=64, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2)
        self.head = nn.Linear(width, 5)

    def forward(self, ids):
        x = self.note(ids) + self.place
        return self.head(self.encoder(x).mean(dim=1))


torch.manual_seed(0)
motifs = torch.randint(30, (5, 3))
model = Motif()
optimizer = torch.optim.Adam(model.parameters(), 2e-3)
for step in range(80):
    label = torch.randint(5, (32,))
    ids = torch.randint(30, (32, 18))
    ids[:, 5:8] = motifs[label]
    loss = nn.functional.cross_entropy(model(ids), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item())
