# PPO on a toy continuous-target environment: old policy under no_grad, several epochs per batch, clipped ratio, entropy bonus.
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(1)
np.random.seed(1)


class VecWalk:
    """Move along a line to a target; 3 actions; many envs at once."""

    def __init__(self, n):
        self.n = n
        self.pos, self.goal, self.t = np.zeros(n), np.zeros(n), np.zeros(n, int)
        self._reset(np.ones(n, bool))

    def _reset(self, m):
        self.pos[m] = np.random.uniform(-1, 1, m.sum())
        self.goal[m] = np.random.uniform(-1, 1, m.sum())
        self.t[m] = 0

    def obs(self):
        return torch.tensor(np.stack([self.pos, self.goal], 1), dtype=torch.float32)

    def step(self, a):
        self.pos = np.clip(self.pos + 0.2 * (a - 1), -1.2, 1.2)
        r = -np.abs(self.pos - self.goal)
        self.t += 1
        done = self.t >= 16
        self._reset(done)
        return self.obs(), torch.tensor(r, dtype=torch.float32), torch.tensor(done, dtype=torch.float32)


def layer_init(l, std=2 ** 0.5):
    nn.init.orthogonal_(l.weight, std)
    nn.init.constant_(l.bias, 0.0)
    return l


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(layer_init(nn.Linear(2, 48)), nn.Tanh(), layer_init(nn.Linear(48, 48)), nn.Tanh(), layer_init(nn.Linear(48, 1), 1.0))
        self.actor = nn.Sequential(layer_init(nn.Linear(2, 48)), nn.Tanh(), layer_init(nn.Linear(48, 48)), nn.Tanh(), layer_init(nn.Linear(48, 3), 0.01))

    def get(self, x, a=None):
        d = Categorical(logits=self.actor(x))
        a = d.sample() if a is None else a
        return a, d.log_prob(a), d.entropy(), self.critic(x).squeeze(-1)


N, T, EPOCHS, MB, UPDATES = 16, 32, 4, 128, 12
env, agent = VecWalk(N), Agent()
opt = torch.optim.Adam(agent.parameters(), lr=3e-3, eps=1e-5)
obs, done = env.obs(), torch.zeros(N)
for upd in range(UPDATES):
    for g in opt.param_groups:
        g["lr"] = 3e-3 * (1 - upd / UPDATES)
    O, A, LP, R, Dn, V = ([] for _ in range(6))
    for t in range(T):
        with torch.no_grad():
            a, lp, _, v = agent.get(obs)
        O.append(obs); A.append(a); LP.append(lp); V.append(v); Dn.append(done)
        obs, r, done = env.step(a.numpy())
        R.append(r)
    with torch.no_grad():
        nv, last, adv = agent.critic(obs).squeeze(-1), torch.zeros(N), [None] * T
        for t in reversed(range(T)):
            nonterm = 1 - (done if t == T - 1 else Dn[t + 1])
            nxt = nv if t == T - 1 else V[t + 1]
            last = R[t] + 0.95 * nxt * nonterm - V[t] + 0.95 * 0.9 * nonterm * last
            adv[t] = last
    O, A, LP, V, adv = (torch.cat(x) for x in (O, A, LP, V, adv))
    ret = adv + V
    clipfracs = []
    for ep in range(EPOCHS):
        for mb in torch.randperm(N * T).split(MB):
            _, lp, ent, v = agent.get(O[mb], A[mb])
            ratio = (lp - LP[mb]).exp()
            clipfracs.append(((ratio - 1).abs() > 0.2).float().mean().item())
            ad = (adv[mb] - adv[mb].mean()) / (adv[mb].std() + 1e-8)
            pg = torch.max(-ad * ratio, -ad * ratio.clamp(0.8, 1.2)).mean()
            vl = 0.5 * (v - ret[mb]).pow(2).mean()
            loss = pg - 0.01 * ent.mean() + 0.5 * vl
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            opt.step()
    if upd % 2 == 0:
        print(f"update {upd} reward {torch.cat(R).mean():.3f} pg {pg.item():.4f} v {vl.item():.4f} ent {ent.mean().item():.3f} clipfrac {np.mean(clipfracs):.3f}")
