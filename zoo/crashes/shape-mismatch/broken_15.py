"""Self-attention over points of a cloud; tells rings from discs."""
import torch
import torch.nn.functional as F
from torch import nn


class PointAttention(nn.Module):
    def __init__(self, dim=48, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv = nn.ModuleList([nn.Linear(dim, dim) for _ in range(3)])

    def split(self, x):
        b, n, dim = x.shape
        x = x.view(b, n, self.heads, 16).transpose(1, 2)
        return x

    def forward(self, x):
        q, k, v = (self.split(layer(x)) for layer in self.qkv)
        mixed = F.scaled_dot_product_attention(q, k, v)
        return mixed.transpose(1, 2).flatten(2)


class CloudNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.lift = nn.Linear(2, 48)
        self.attention = PointAttention()
        self.head = nn.Linear(48, 2)

    def forward(self, points):
        h = F.relu(self.lift(points))
        h = h + self.attention(h)
        return self.head(h.mean(dim=1))


def clouds(n=32, count=20):
    labels = torch.randint(0, 2, (n,))
    angle = torch.rand(n, count) * 6.283
    radius = torch.where(labels[:, None] == 1, torch.ones(n, count), torch.rand(n, count).sqrt())
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=-1), labels


torch.manual_seed(9)
model = CloudNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(80):
    points, labels = clouds()
    loss = F.cross_entropy(model(points), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print("step", step, round(loss.item(), 4))
