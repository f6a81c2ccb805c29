"""Skip-gram with negative sampling: dot products of two embeddings under binary cross-entropy."""
import torch
import torch.nn.functional as F
from torch import nn

WORDS, TOPICS = 120, 6
torch.manual_seed(8)
topic = torch.arange(WORDS) % TOPICS
center, context = nn.Embedding(WORDS, 16), nn.Embedding(WORDS, 16)
nn.init.uniform_(center.weight, -0.05, 0.05)
nn.init.zeros_(context.weight)
optimizer = torch.optim.Adam([*center.parameters(), *context.parameters()], lr=2e-2)

for step in range(300):
    word = torch.randint(0, WORDS, (128,))
    near = (word + TOPICS * torch.randint(1, 20, (128,))) % WORDS
    far = torch.randint(0, WORDS, (128, 5))
    inner = center(word)
    good = (inner * context(near)).sum(1)
    bad = torch.bmm(context(far), inner.unsqueeze(2)).squeeze(2)
    loss = -(F.logsigmoid(good).mean() + F.logsigmoid(-bad).sum(1).mean())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 0:
        print(step, round(loss.item(), 4))
