"""Actor and critic on one body, with one optimizer: the critic reads the body's features detached."""
import torch
from torch import nn


class ActorCritic(nn.Module):
    def __init__(self, states=6, actions=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(states, 32), nn.Tanh())
        self.actor = nn.Linear(32, actions)
        self.critic = nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, state):
        features = self.body(state)
        return self.actor(features), self.critic(features.detach()).squeeze(1)


torch.manual_seed(5)
net = ActorCritic()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
best = torch.randn(6, 3)
rewards = []
for step in range(250):
    state = torch.randn(64, 6)
    logits, value = net(state)
    policy = torch.distributions.Categorical(logits=logits)
    action = policy.sample()
    reward = ((state @ best).argmax(dim=1) == action).float()
    advantage = (reward - value).detach()
    loss = -(policy.log_prob(action) * advantage).mean() + (reward - value).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    rewards.append(reward.mean().item())
print(sum(rewards[:20]) / 20, sum(rewards[-20:]) / 20)
