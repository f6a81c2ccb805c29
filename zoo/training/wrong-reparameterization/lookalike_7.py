"""Soft actor-critic on a one-step task: a squashed normal policy with a bonus for its entropy."""
import math

import torch
import torch.nn.functional as F
from torch import nn


class Policy(nn.Module):
    def __init__(self, state=6, action=2):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(state, 48), nn.ReLU())
        self.mean, self.log_std = nn.Linear(48, action), nn.Linear(48, action)

    def forward(self, state):
        hidden = self.body(state)
        mean, log_std = self.mean(hidden), self.log_std(hidden).clamp(-5, 2)
        raw = mean + log_std.exp() * torch.randn_like(mean)
        action = torch.tanh(raw)
        log_prob = -0.5 * ((raw - mean) / log_std.exp()) ** 2 - log_std - 0.5 * math.log(2 * math.pi)
        return action, (log_prob - torch.log(1 - action**2 + 1e-6)).sum(1)


torch.manual_seed(0)
policy = Policy()
critic = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 1))
policy_optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=3e-3)
best = torch.randn(6, 2)
for step in range(150):
    state = torch.randn(64, 6)
    with torch.no_grad():
        tried, _ = policy(state)
    reward = -((tried - torch.tanh(state @ best)) ** 2).sum(1, keepdim=True)
    critic_loss = F.mse_loss(critic(torch.cat((state, tried), 1)), reward)
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()
    action, log_prob = policy(state)
    policy_loss = (0.05 * log_prob - critic(torch.cat((state, action), 1)).squeeze(1)).mean()
    policy_optimizer.zero_grad()
    policy_loss.backward()
    policy_optimizer.step()
    if step % 50 == 0:
        print(step, critic_loss.item(), policy_loss.item())
