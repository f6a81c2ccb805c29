"""A loss that becomes NaN because a probability reaches zero."""

import torch
from torch import nn

torch.manual_seed(36)
net = nn.Linear(6, 3)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
rows, kinds = torch.randn(30, 6), torch.randint(0, 3, (30,))
for _ in range(10):
    chances = torch.relu(net(rows))
    chosen = torch.log(chances).gather(1, kinds[:, None])
    loss = -(chosen * chances.gather(1, kinds[:, None])).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
    optimizer.step()
