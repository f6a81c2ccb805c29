"""Tagging with padded labels at the very edge of what is allowed: all of it is in range."""
import torch
from torch import nn

torch.manual_seed(1)
WORDS, TAGS, PADDING = 20, 5, -100
model = nn.Sequential(nn.Embedding(WORDS, 16), nn.Linear(16, TAGS))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(80):
    words = torch.randint(0, WORDS, (16, 8))
    words[:, 0], words[:, 1] = 0, WORDS - 1
    tags = words % TAGS
    tags[:, -2:] = PADDING
    loss = criterion(model(words).flatten(0, 1), tags.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
