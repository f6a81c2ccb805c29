"""Tag words as names or not: most tags are 0, at the ends too, and padding is masked by hand."""
import torch
import torch.nn.functional as F
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(60, 16, padding_idx=0)
        self.rnn = nn.LSTM(16, 24, batch_first=True, bidirectional=True)
        self.out = nn.Linear(48, 3)

    def forward(self, words):
        return self.out(self.rnn(self.embed(words))[0])


torch.manual_seed(2)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(120):
    lengths = torch.randint(4, 15, (32, 1))
    words = torch.randint(1, 60, (32, 14))
    mask = torch.arange(14) < lengths
    words = words * mask
    tags = (words % 7 == 3).long() + 2 * (words % 11 == 5).long().clamp(max=1)
    tags = tags.clamp(max=2) * mask
    each = F.cross_entropy(model(words).transpose(1, 2), tags, reduction="none")
    loss = (each * mask).sum() / mask.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(step, round(loss.item(), 4))
