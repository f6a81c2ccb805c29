"""REINFORCE with normalised returns: the printed loss hovers around zero while the reward climbs."""
import torch
import torch.nn as nn


class Grid:
    def __init__(self, n, size=5, horizon=10):
        self.n, self.s, self.h = n, size, horizon

    def reset(self):
        self.p = torch.randint(0, self.s, (self.n, 2))
        self.goal = torch.randint(0, self.s, (self.n, 2))
        return self.obs()

    def obs(self):
        return torch.cat([self.p, self.goal], 1).float() / (self.s - 1) * 2 - 1

    def step(self, a):
        move = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0], [0, 0]])[a]
        self.p = (self.p + move).clamp(0, self.s - 1)
        return self.obs(), (self.p == self.goal).all(1).float()


torch.manual_seed(42)
env = Grid(96)
pi = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 5))
opt = torch.optim.Adam(pi.parameters(), lr=6e-3)
for it in range(1, 161):
    o = env.reset()
    logp, rew, ent = [], [], []
    for _ in range(env.h):
        d = torch.distributions.Categorical(logits=pi(o))
        a = d.sample()
        o, r = env.step(a)
        logp.append(d.log_prob(a))
        ent.append(d.entropy())
        rew.append(r)
    g, out = torch.zeros(env.n), []
    for r in reversed(rew):
        g = r + 0.9 * g
        out.insert(0, g)
    ret = torch.stack(out)
    adv = (ret - ret.mean(1, keepdim=True)) / (ret.std(1, keepdim=True) + 1e-6)
    loss = -(torch.stack(logp) * adv).mean() - 0.01 * torch.stack(ent).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 20 == 0:
        print(f"iter {it} loss {loss.item():+.4f} reward {torch.stack(rew).sum(0).mean().item():.2f}")
