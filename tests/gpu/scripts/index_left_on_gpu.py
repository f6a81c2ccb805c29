"""Positions are looked up in a table that is made in forward."""
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.head = nn.Linear(16, 2)

    def forward(self, tokens):
        positions = torch.arange(tokens.size(1))
        x = self.embed(tokens) + self.embed(positions)
        return self.head(x.mean(dim=1))


device = torch.device("cuda")
net = Net().to(device)
tokens = torch.randint(0, 50, (8, 12), device=device)
print(net(tokens).shape)
