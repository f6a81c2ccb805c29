"""Spam filter: a small network over word counts, two classes."""
import torch
from torch import nn

torch.manual_seed(0)

WORDS = 40
spam_words = torch.randn(WORDS)


def mails(n):
    counts = torch.poisson(torch.full((n, WORDS), 0.8))
    spam = ((counts - 0.8) @ spam_words > 0).float().unsqueeze(1)
    return counts, spam


class Filter(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(WORDS, 64)
        self.score = nn.Linear(64, 1)

    def forward(self, counts):
        hidden = torch.relu(self.hidden(counts))
        return self.score(hidden)


model = Filter()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for step in range(300):
    counts, spam = mails(64)
    loss = criterion(model(counts), spam)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step:3d}  loss {loss.item():.4f}")
