"""Actor and critic that learn to steer a point to the origin."""
import torch
import torch.nn as nn


class Agent:
    def __init__(self):
        self.actor = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
        self.critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=3e-3)

    def update(self, state, action, cost):
        critic_loss = (self.critic(torch.cat([state, action], dim=1)) - cost).pow(2).mean()

        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()

        actor_loss = self.critic(torch.cat([state, self.actor(state)], dim=1)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()
        return critic_loss.item()


torch.manual_seed(0)
agent = Agent()
for step in range(200):
    state = torch.randn(64, 2)
    action = agent.actor(state).detach() + 0.3 * torch.randn(64, 2)
    cost = (state + action).pow(2).sum(dim=1, keepdim=True)
    loss = agent.update(state, action, cost)
    if step % 40 == 0:
        print(f"step {step} critic loss {loss:.3f}")
