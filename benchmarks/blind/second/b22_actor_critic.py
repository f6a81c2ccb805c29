"""Batched advantage actor-critic on a small corridor."""
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.distributions import Categorical


@dataclass
class Cfg:
    n_env: int = 32
    horizon: int = 8
    updates: int = 200
    gamma: float = 0.95
    lr: float = 5e-3
    ent: float = 0.01
    vf: float = 0.5
    seed: int = 0


class Corridor:
    """positions 0..6; +1 for reaching 6, -0.05 per move; the start is drawn in 1..4"""

    def __init__(self, n):
        self.n, self.size = n, 7
        self.pos = torch.randint(1, 5, (n,))

    def obs(self):
        return nn.functional.one_hot(self.pos, self.size).float()

    def step(self, a):
        self.pos = (self.pos + 2 * a - 1).clamp(0, self.size - 1)
        done = self.pos == self.size - 1
        r = torch.where(done, torch.tensor(1.0), torch.tensor(-0.05))
        self.pos = torch.where(done, torch.randint(1, 5, (self.n,)), self.pos)
        return self.obs(), r, done.float()


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(7, 32), nn.Tanh())
        self.pi = nn.Linear(32, 2)
        self.v = nn.Linear(32, 1)

    def forward(self, o):
        h = self.body(o)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def main(cfg=Cfg()):
    torch.manual_seed(cfg.seed)
    env, net = Corridor(cfg.n_env), ActorCritic()
    opt = torch.optim.Adam(net.parameters(), lr=cfg.lr)
    o = env.obs()
    recent = []
    for u in range(cfg.updates):
        logps, vals, rews, dones, ents = [], [], [], [], []
        for _ in range(cfg.horizon):
            dist, v = net(o)
            a = dist.sample()
            o, r, d = env.step(a)
            logps.append(dist.log_prob(a)); vals.append(v); rews.append(r); dones.append(d); ents.append(dist.entropy())
        with torch.no_grad():
            ret = net(o)[1]
        returns = []
        for r, d in zip(reversed(rews), reversed(dones)):
            ret = r + cfg.gamma * ret * (1 - d)
            returns.insert(0, ret)
        returns, vals, logps = torch.stack(returns), torch.stack(vals), torch.stack(logps)
        adv = (returns - vals).detach()
        policy_loss = (logps * adv).mean()
        value_loss = (returns - vals).pow(2).mean()
        loss = policy_loss + cfg.vf * value_loss - cfg.ent * torch.stack(ents).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        recent.append(torch.stack(rews).mean().item())
        if (u + 1) % 25 == 0:
            print(f"update {u + 1:3d} reward/step {sum(recent[-25:]) / 25:+.3f} loss {loss.item():+.3f}")


if __name__ == "__main__":
    main()
