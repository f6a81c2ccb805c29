"""The policy waits until the critic knows something: its loss is computed from the first step, and used later."""
import torch
from torch import nn

torch.manual_seed(12)
actor = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1), nn.Tanh())
critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
actor_opt = torch.optim.Adam(actor.parameters(), lr=2e-3)
critic_opt = torch.optim.Adam(critic.parameters(), lr=5e-3)
for step in range(240):
    state, tried = torch.randn(64, 3), torch.rand(64, 1) * 2 - 1
    reward = -((tried - state.mean(1, keepdim=True)) ** 2)
    critic_loss = nn.functional.mse_loss(critic(torch.cat([state, tried], 1)), reward)
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()
    actor_loss = -critic(torch.cat([state, actor(state)], 1)).mean()
    actor_opt.zero_grad()
    if step >= 60:
        actor_loss.backward()
    actor_opt.step()
    if step % 40 == 0:
        print(step, round(critic_loss.item(), 4), round(actor_loss.item(), 4))
