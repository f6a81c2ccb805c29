"""Deep Q-learning of a small grid with an agent that holds both of its networks."""
import copy

import torch
from torch import nn


class Agent(nn.Module):
    def __init__(self, size=6, actions=4):
        super().__init__()
        self.q = nn.Sequential(nn.Linear(size, 32), nn.ReLU(), nn.Linear(32, actions))
        self.q_target = copy.deepcopy(self.q)

    def loss(self, state, action, reward, following, gamma=0.9):
        value = self.q(state).gather(1, action).squeeze(1)
        with torch.no_grad():
            wanted = reward + gamma * self.q_target(following).max(1).values
        return nn.functional.mse_loss(value, wanted)

    @torch.no_grad()
    def sync(self, tau=0.02):
        for slow, fast in zip(self.q_target.parameters(), self.q.parameters()):
            slow.mul_(1 - tau).add_(tau * fast)


torch.manual_seed(0)
agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=2e-3)
weights = torch.randn(6, 4)
for step in range(250):
    state, following = torch.randn(64, 6), torch.randn(64, 6)
    action = torch.randint(0, 4, (64, 1))
    reward = (state @ weights).gather(1, action).squeeze(1)
    loss = agent.loss(state, action, reward, following)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    agent.sync()
    if step % 50 == 0:
        print(f"step {step}: td loss {loss.item():.4f}")
