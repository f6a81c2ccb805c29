"""Deterministic policy gradients on a point mass, with slowly moving copies of both networks."""
import copy
from itertools import chain

import torch
import torch.nn.functional as F
from torch import nn


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, state, action):
        return self.net(torch.cat([state, action], 1))


class DDPG:
    def __init__(self, gamma=0.95, tau=0.02):
        self.gamma, self.tau = gamma, tau
        self.actor = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())
        self.critic = Critic()
        self.actor_target, self.critic_target = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam(chain(self.critic.parameters(), self.critic_target.parameters()), lr=2e-3)

    def soft_update(self):
        with torch.no_grad():
            for live, slow in ((self.actor, self.actor_target), (self.critic, self.critic_target)):
                for p, t in zip(live.parameters(), slow.parameters()):
                    t.lerp_(p, self.tau)

    def train_step(self, s, a, r, s2):
        y = r + self.gamma * self.critic_target(s2, self.actor_target(s2))
        critic_loss = F.mse_loss(self.critic(s, a), y)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()

        actor_loss = -self.critic(s, self.actor(s)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()
        self.soft_update()
        return critic_loss.item(), actor_loss.item()


def environment(s, a):
    velocity = s[:, 1:] + 0.2 * a
    position = s[:, :1] + 0.2 * velocity
    return torch.cat([position, velocity], 1), -(position ** 2) - 0.05 * a ** 2


torch.manual_seed(151)
agent = DDPG()
for it in range(130):
    s = torch.randn(64, 2)
    with torch.no_grad():
        a = (agent.actor(s) + 0.3 * torch.randn(64, 1)).clamp(-1, 1)
    s2, r = environment(s, a)
    c, p = agent.train_step(s, a, r, s2)
    if it % 50 == 0:
        print(it, round(c, 4), round(p, 4))
