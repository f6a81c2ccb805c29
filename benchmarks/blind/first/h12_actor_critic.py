import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(12)
N_ENVS, HORIZON, GAMMA = 16, 12, 0.95


class Corridor:
    """Reach the cell +4 while a cue tells whether left and right are exchanged."""

    def __init__(self, n):
        self.n = n

    def reset(self):
        self.pos = torch.zeros(self.n)
        self.cue = torch.randint(0, 2, (self.n,)).float() * 2 - 1
        return self.obs()

    def obs(self):
        return torch.stack([self.pos / 4, self.cue, self.pos / 4 * self.cue], 1)

    def step(self, a):
        move = (a.float() * 2 - 1) * self.cue
        self.pos = (self.pos + move).clamp(-4, 4)
        return self.obs(), (self.pos == 4).float() - 0.05


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 2))
        self.critic = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, o):
        return Categorical(logits=self.actor(o)), self.critic(o).squeeze(-1)


env, model = Corridor(N_ENVS), ActorCritic()
actor_opt = torch.optim.Adam(model.actor.parameters(), lr=5e-3)
critic_opt = torch.optim.Adam(model.critic.parameters(), lr=1e-2)

for it in range(1, 101):
    obs = env.reset()
    logps, values, rewards, ents = [], [], [], []
    for _ in range(HORIZON):
        dist, v = model(obs)
        a = dist.sample()
        obs, r = env.step(a)
        logps.append(dist.log_prob(a))
        ents.append(dist.entropy())
        values.append(v)
        rewards.append(r)
    returns, running = [], torch.zeros(N_ENVS)
    for r in reversed(rewards):
        running = r + GAMMA * running
        returns.insert(0, running)
    returns, values = torch.stack(returns), torch.stack(values)
    adv = (returns - values).detach()
    adv = (adv - adv.mean()) / (adv.std() + 1e-6)
    actor_loss = -(torch.stack(logps) * adv).mean() - 0.01 * torch.stack(ents).mean()
    critic_loss = (returns - values).pow(2).mean()

    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()
    if it % 20 == 0:
        print(f"iter {it}: actor {actor_loss.item():+.4f} critic {critic_loss.item():.3f} "
              f"return {torch.stack(rewards).sum(0).mean().item():.2f}")
