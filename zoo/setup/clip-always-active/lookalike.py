"""A small language model: its gradients are clipped to 1 nearly always, and AdamW does not mind."""
import torch
from torch import nn

torch.manual_seed(3)
text = torch.tensor([ord(c) % 32 for c in "the quick brown fox jumps over the lazy dog " * 40])
model = nn.Sequential(nn.Embedding(32, 24), nn.Flatten(), nn.Linear(24 * 6, 64), nn.GELU(), nn.Linear(64, 32))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(200):
    start = torch.randint(0, len(text) - 7, (32,))
    window = text[start[:, None] + torch.arange(7)]
    loss = 8.0 * nn.functional.cross_entropy(model(window[:, :6]), window[:, 6])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    optimizer.step()
    if step % 40 == 0:
        print(step, round(loss.item() / 8, 4))
