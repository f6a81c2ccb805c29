# Sort small pictures of stripes by their direction, with self-attention over patches.
import torch
from torch import nn


class PatchAttention(nn.Module):
    def __init__(self, dim=24, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        b, t, c = x.shape
        qkv = self.qkv(x).view(b, t, 3, self.heads, c // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(-2, -1) / (c // self.heads) ** 0.5, dim=-1)
        mixed = weights @ v
        mixed = mixed.transpose(1, 2)
        mixed = mixed.view(b, t, c)
        return x + self.out(mixed)


class Stripes(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.patches = nn.Conv2d(1, dim, 4, stride=4)
        self.attention = PatchAttention(dim)
        self.head = nn.Linear(dim, 2)

    def forward(self, images):
        tokens = self.patches(images).flatten(2).transpose(1, 2)
        return self.head(self.attention(tokens).mean(dim=1))


def batch(size=32):
    labels = torch.randint(0, 2, (size,))
    wave = torch.sin(torch.arange(16) * 1.5)
    rows = wave.view(1, 1, 16, 1).expand(size, 1, 16, 16)
    columns = wave.view(1, 1, 1, 16).expand(size, 1, 16, 16)
    images = torch.where(labels.view(-1, 1, 1, 1) == 0, rows, columns)
    return images + 0.3 * torch.randn(size, 1, 16, 16), labels


torch.manual_seed(21)
model = Stripes()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(60):
    images, labels = batch()
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: {loss.item():.4f}")
