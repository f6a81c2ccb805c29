"""REINFORCE on a contextual bandit: the loss swings and has no trend, the reward is what grows."""
import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self, n_actions=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, n_actions))

    def forward(self, obs):
        return Categorical(logits=self.net(obs))


def play(policy, batch=32):
    obs = torch.randn(batch, 4)
    dist = policy(obs)
    action = dist.sample()
    reward = (action == obs.argmax(dim=1)).float() * 10
    return dist.log_prob(action), reward


torch.manual_seed(7)
policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
average = 0.0
for episode in range(300):
    log_prob, reward = play(policy)
    loss = -(log_prob * (reward - average)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average = 0.95 * average + 0.05 * reward.mean().item()
    if episode % 50 == 0:
        print(f"episode {episode}: loss {loss.item():+.3f}  reward {reward.mean().item():.2f}")
