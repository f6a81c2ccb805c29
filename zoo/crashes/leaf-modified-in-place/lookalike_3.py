"""A weight row set to a vector of another length."""
import torch
import torch.nn as nn

torch.manual_seed(0)
table = nn.Embedding(10, 6)
start = torch.randn(5)
with torch.no_grad():
    table.weight[0] = start
optimizer = torch.optim.SGD(table.parameters(), lr=0.1)
