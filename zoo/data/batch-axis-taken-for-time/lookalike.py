"""Time-first LSTM and attention, used as they are meant: one model transposes, one is fed (time, batch)."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 24)
        self.attn = nn.MultiheadAttention(24, 4)
        self.fc = nn.Linear(24, 3)

    def forward(self, x):
        out, _ = self.lstm(x.transpose(0, 1))
        mixed, _ = self.attn(out, out, out)
        return self.fc((out + mixed)[-1])


torch.manual_seed(0)
y = torch.randint(3, (300,))
x = torch.randn(300, 14, 3) + torch.nn.functional.one_hot(y, 3)[:, None]
model = Reader()
opt = torch.optim.Adam(model.parameters(), 5e-3)
for epoch in range(6):
    for bx, by in DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True):
        loss = nn.functional.cross_entropy(model(bx), by)
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())

tagger, head = nn.GRU(4, 16), nn.Linear(16, 2)
opt = torch.optim.Adam([*tagger.parameters(), *head.parameters()], 1e-2)
for step in range(60):
    seq = torch.randn(30, 12, 4)
    tags = (seq.cumsum(0)[..., 0] > 0).long()
    out, _ = tagger(seq)
    loss = nn.functional.cross_entropy(head(out).flatten(0, 1), tags.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
