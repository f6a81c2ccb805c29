"""Multi-head attention written with einsum; memory pool longer than the query."""
import torch
from torch import nn


class EinsumAttention(nn.Module):
    def __init__(self, dim=24, heads=4):
        super().__init__()
        self.heads, self.width = heads, dim // heads
        self.query = nn.Linear(dim, dim)
        self.memory = nn.Linear(dim, 2 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x, memory):
        b, n, dim = x.shape
        q = self.query(x).view(b, n, self.heads, self.width)
        k, v = self.memory(memory).view(b, -1, self.heads, 2 * self.width).chunk(2, dim=-1)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / self.width ** 0.5
        mixed = torch.einsum("bhqk,bhkd->bqhd", scores.softmax(dim=-1), v)
        return self.out(mixed.reshape(b, n, dim))


torch.manual_seed(5)
attention = EinsumAttention()
readout = nn.Linear(24, 24)
parameters = [*attention.parameters(), *readout.parameters()]
optimizer = torch.optim.Adam(parameters, lr=3e-3)
for step in range(80):
    memory = torch.randn(16, 9, 24)
    x = memory[:, :5] + 0.1 * torch.randn(16, 5, 24)
    loss = nn.functional.mse_loss(readout(attention(x, memory)), memory[:, :5])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
