"""Advantage actor-critic on a bandit with context: two networks, two optimizers."""
import torch
from torch import nn
from torch.distributions import Categorical


class Actor(nn.Module):
    def __init__(self, obs, actions):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, 32), nn.Tanh())
        self.logits = nn.Linear(32, actions)

    def forward(self, obs):
        return Categorical(logits=self.logits(self.body(obs)))


class Critic(nn.Module):
    def __init__(self, obs):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, obs):
        return self.body(obs).squeeze(-1)


class Agent:
    def __init__(self, obs=5, actions=4):
        self.actor, self.critic = Actor(obs, actions), Critic(obs)
        self.actor_optim = torch.optim.Adam(self.actor.parameters(), lr=5e-3)
        self.critic_optim = torch.optim.Adam(self.critic.parameters(), lr=5e-3)

    def learn(self, obs, action, reward):
        value = self.critic(obs)
        advantage = reward - value.detach()
        policy_loss = -(self.actor(obs).log_prob(action) * advantage).mean()
        value_loss = (value - reward).pow(2).mean()

        self.actor_optim.zero_grad()
        policy_loss.backward()
        self.actor_optim.step()

        self.critic_optim.zero_grad()
        self.critic_optim.step()
        return policy_loss.item(), value_loss.item()


torch.manual_seed(3)
agent = Agent()
table = torch.randn(5, 4)
for episode in range(250):
    obs = torch.randn(64, 5)
    with torch.no_grad():
        action = agent.actor(obs).sample()
    reward = (obs @ table).gather(1, action[:, None]).squeeze(1) + 4 * obs[:, 0]
    p, v = agent.learn(obs, action, reward)
    if episode % 50 == 0:
        print(episode, round(p, 3), round(v, 3), round(reward.mean().item(), 3))
