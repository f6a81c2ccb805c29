"""REINFORCE on a bandit with context: the agent should learn which arm pays."""
import torch
from torch import nn
from torch.distributions import Categorical


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 4))

    def forward(self, s):
        return Categorical(logits=self.net(s))


torch.manual_seed(0)
agent = Agent()
opt = torch.optim.Adam(agent.parameters(), lr=5e-3)
for episode in range(250):
    state = torch.randn(64, 4)
    dist = agent(state)
    action = dist.sample()
    reward = (action == state.argmax(1)).float()
    advantage = reward - reward.mean()
    loss = (dist.log_prob(action) * advantage).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if episode % 50 == 0:
        print(episode, reward.mean().item(), loss.item())
