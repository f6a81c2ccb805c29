"""Transformer encoder with key padding masks."""
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, vocab=30, d=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, d, padding_idx=0)
        layer = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.0, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(d, 2)

    def forward(self, ids):
        pad = ids == 0
        h = self.enc(self.emb(ids), src_key_padding_mask=pad)
        h = h.masked_fill(pad[..., None], float("-inf")).amax(dim=1)
        return self.head(h)


torch.manual_seed(1)
model = Encoder()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(80):
    lengths = torch.randint(1, 9, (32,))
    ids = torch.randint(1, 30, (32, 8)) * (torch.arange(8) < lengths[:, None])
    y = (ids == 7).any(1) | (ids == 9).any(1) | (ids == 3).any(1)
    loss = nn.functional.cross_entropy(model(ids), y.long())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
print("final", loss.item())
