"""Node embeddings of a random graph."""
import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(0)
nodes, edges = 250_000, 2_000
pairs = rng.integers(0, nodes, size=(edges, 2))
adjacency = np.zeros((nodes, nodes), dtype=np.float32)
adjacency[pairs[:, 0], pairs[:, 1]] = 1

torch.manual_seed(0)
table = nn.Embedding(nodes, 8, sparse=True)
optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.05)
source, target = torch.as_tensor(pairs[:, 0]), torch.as_tensor(pairs[:, 1])
for step in range(40):
    agree = (table(source) * table(target)).sum(dim=1)
    loss = nn.functional.softplus(-agree).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, round(loss.item(), 3))
