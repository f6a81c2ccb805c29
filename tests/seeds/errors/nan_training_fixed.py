"""The same with all that is advised: a small number in the log, clipping, a low rate, asserts on the data."""

import torch
from torch import nn

torch.manual_seed(36)
net = nn.Linear(6, 3)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
rows, kinds = torch.randn(30, 6), torch.randint(0, 3, (30,))
assert not torch.isinf(rows).any(), "the data hold an Inf"
assert not torch.isnan(rows).any(), "the data hold a NaN"
for _ in range(10):
    chances = net(rows).softmax(1)
    chosen = torch.log(chances + 1e-8).gather(1, kinds[:, None])
    loss = -chosen.mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
    optimizer.step()
