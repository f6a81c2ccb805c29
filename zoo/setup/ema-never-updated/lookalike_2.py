"""The target network is loaded anew every 500 updates; this short run never gets there."""
import copy

import torch
from torch import nn

torch.manual_seed(3)
q = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
q_target = copy.deepcopy(q)
optimizer = torch.optim.Adam(q.parameters(), lr=2e-3)
for step in range(1, 201):
    state, following = torch.randn(64, 3), torch.randn(64, 3)
    action = torch.randint(0, 2, (64, 1))
    with torch.no_grad():
        wanted = state[:, :1] + 0.5 * q_target(following).max(1, keepdim=True).values
    loss = nn.functional.mse_loss(q(state).gather(1, action), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 500 == 0:
        q_target.load_state_dict(q.state_dict())
    if step % 50 == 0:
        print(step, round(loss.item(), 4))
