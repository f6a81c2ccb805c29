"""Q-learning: the target network is frozen, and takes the weights of the online one every 80 steps."""
import torch
from torch import nn


def mlp():
    return nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.online, self.target = mlp(), mlp()

    def forward(self, state):
        return self.online(state)

    def sync(self):
        self.target.load_state_dict(self.online.state_dict())


torch.manual_seed(0)
agent = Agent()
agent.sync()
agent.target.requires_grad_(False)
optimizer = torch.optim.Adam(agent.online.parameters(), lr=1e-3)
moves = 0.3 * torch.randn(3, 6)
for step in range(240):
    state = torch.randn(64, 6)
    action = torch.randint(0, 3, (64,))
    after = state + moves[action]
    with torch.no_grad():
        goal = -after.abs().mean(dim=1) + 0.9 * agent.target(after).max(dim=1).values
    loss = nn.functional.smooth_l1_loss(agent(state).gather(1, action[:, None])[:, 0], goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 80 == 79:
        agent.sync()
print(loss.item())
