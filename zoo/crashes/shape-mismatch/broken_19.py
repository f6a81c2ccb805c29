"""Next-symbol prediction with a causal transformer encoder."""
import torch
from torch import nn


class NextSymbol(nn.Module):
    def __init__(self, symbols=10, dim=32):
        super().__init__()
        self.embed = nn.Embedding(symbols, dim)
        self.place = nn.Parameter(0.02 * torch.randn(12, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.out = nn.Linear(dim, symbols)

    def forward(self, x, mask):
        h = self.embed(x) + self.place
        h = self.encoder(h, mask=mask)
        return self.out(h)


def counting(n=16, length=13):
    start = torch.randint(0, 10, (n, 1))
    stride = torch.randint(1, 4, (n, 1))
    return (start + stride * torch.arange(length)) % 10


torch.manual_seed(13)
model = NextSymbol()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(80):
    sequence = counting()
    x, y = sequence[:, :-1], sequence[:, 1:]
    mask = nn.Transformer.generate_square_subsequent_mask(x.size(0))
    logits = model(x, mask)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f}")
