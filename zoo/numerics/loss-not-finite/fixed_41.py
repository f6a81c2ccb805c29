"""Tune a soft prompt in front of a frozen encoder."""
import torch
from torch import nn

torch.manual_seed(1)
torch.use_deterministic_algorithms(True)


class Prompted(nn.Module):
    def __init__(self, d=16, n_prompt=4):
        super().__init__()
        self.tokens = nn.Embedding(40, d)
        self.prompt = nn.Parameter(0.02 * torch.randn(n_prompt, d))
        layer = nn.TransformerEncoderLayer(d, 2, 32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(d, 2)
        for p in self.encoder.parameters():
            p.requires_grad_(False)

    def forward(self, ids):
        p = self.prompt.expand(ids.size(0), -1, -1)
        h = self.encoder(torch.cat([p, self.tokens(ids)], dim=1))
        return self.head(h[:, 0])


model = Prompted()
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
for step in range(80):
    ids = torch.randint(0, 40, (32, 3))
    y = (ids[:, 0] > 20).long()
    loss = nn.functional.cross_entropy(model(ids), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, loss.item())
