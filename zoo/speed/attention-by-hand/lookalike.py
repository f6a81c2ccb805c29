"""Marks bumps in a long sequence with one block of attention, and shows where it looked."""
import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        b, n, width = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)
        weights = scores.softmax(dim=-1)
        self.last_weights = weights[0].mean(dim=0).detach()  # for the picture at the end
        mixed = weights @ v
        return self.out(mixed.transpose(1, 2).reshape(b, n, width))


class Marker(nn.Module):
    def __init__(self, width=32, heads=4, places=640):
        super().__init__()
        self.stem = nn.Conv1d(1, width, 9, padding=4)
        self.places = nn.Parameter(0.02 * torch.randn(places, width))
        self.norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.head = nn.Linear(width, 1)

    def forward(self, signal):
        x = torch.relu(self.stem(signal)).transpose(1, 2) + self.places
        x = x + self.attention(self.norm(x))
        return self.head(x).squeeze(-1)


torch.manual_seed(0)
model = Marker()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(24):
    bump = (torch.rand(4, 640) < 0.03).float()
    signal = nn.functional.avg_pool1d(bump.unsqueeze(1), 5, 1, 2) * 5 + 0.2 * torch.randn(4, 1, 640)
    loss = nn.functional.binary_cross_entropy_with_logits(model(signal), (bump > 0).float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 6 == 5:
        print(f"step {step + 1}: loss {loss.item():.4f}")
looked_at = model.attention.last_weights.argmax(dim=1)
print("the middle looks at", looked_at[320].item())
