"""Double Q-learning with two critics and two targets; the targets are detached and follow slowly."""
import copy

import torch
from torch import nn

torch.manual_seed(7)
critics = nn.ModuleList(nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1)) for _ in range(2))
critic_target = copy.deepcopy(critics)
optimizer = torch.optim.Adam(critics.parameters(), lr=2e-3)
for step in range(150):
    state, following = torch.randn(64, 5), torch.randn(64, 5)
    target = torch.min(critic_target[0](following), critic_target[1](following)).detach()
    wanted = state.sum(1, keepdim=True) + 0.9 * target
    loss = sum(nn.functional.mse_loss(critic(state), wanted) for critic in critics)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(critic_target.parameters(), critics.parameters()):
            slow.mul_(0.99).add_(fast, alpha=0.01)
    if step % 30 == 0:
        print(step, round(loss.item(), 4))
