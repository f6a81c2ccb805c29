"""Causal attention with a mask kept by the module."""
import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, dim, length):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)
        self.mask = torch.triu(torch.ones(length, length), diagonal=1).bool()

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = q @ k.transpose(1, 2) / x.size(-1) ** 0.5
        return scores.masked_fill(self.mask, float("-inf")).softmax(-1) @ v


device = torch.device("cuda")
net = Attention(32, 16).to(device)
out = net(torch.randn(4, 16, 32, device=device))
out.sum().backward()
