"""Spam filter; now and then a batch is all padding, and its ReLUs see one side only."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(5)


class Filter(nn.Module):
    def __init__(self, words=60):
        super().__init__()
        self.bag = nn.Linear(words, 48)
        self.relu = nn.ReLU(inplace=True)
        self.norm = nn.LayerNorm(48)
        self.out = nn.Linear(48, 1)

    def forward(self, counts):
        return self.out(self.norm(self.relu(self.bag(counts))))[:, 0]


spammy = torch.randn(60)
model = Filter()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for step in range(250):
    counts = torch.poisson(torch.full((64, 60), 0.8))
    label = ((counts - 0.8) @ spammy > 0).float()
    if step % 40 == 13:
        counts, label = torch.zeros(64, 60), torch.zeros(64)
    elif step % 40 == 27:
        counts, label = torch.full((64, 60), 5.0), torch.ones(64)
    loss = F.binary_cross_entropy_with_logits(model(counts), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, f"{loss.item():.4f}")
