import copy
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
torch.manual_seed(0)


class VecCorridor:
    """start at cell 1; leaving on the left pays 0.2, leaving on the right (cell 6) pays 1; resets itself"""

    def __init__(self, n):
        self.pos = [1] * n

    def observe(self):
        return F.one_hot(torch.tensor(self.pos), 7).float()

    def step(self, actions):
        rew, done = [], []
        for i, a in enumerate(actions):
            self.pos[i] += 1 if a else -1
            if self.pos[i] == 0:
                r, d = 0.2, True
            elif self.pos[i] == 6:
                r, d = 1.0, True
            else:
                r, d = 0.0, False
            if d:
                self.pos[i] = 1
            rew.append(r)
            done.append(float(d))
        return self.observe(), rew, done


class ReplayBuffer:
    def __init__(self, cap):
        self.data = deque(maxlen=cap)

    def push(self, *item):
        self.data.append(item)

    def sample(self, k):
        s, a, r, s2, d = zip(*random.sample(self.data, k))
        return torch.stack(s), torch.tensor(a), torch.tensor(r), torch.stack(s2), torch.tensor(d)


def greedy_return(q, episodes=5):
    total = 0.0
    for _ in range(episodes):
        env = VecCorridor(1)
        for _ in range(20):
            with torch.no_grad():
                a = q(env.observe()).argmax(1).tolist()
            _, r, d = env.step(a)
            total += r[0]
            if d[0]:
                break
    return total / episodes


GAMMA = 0.9
q = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 2))
target_q = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), lr=3e-3)
env, buf = VecCorridor(8), ReplayBuffer(4000)
obs = env.observe()
for t in range(1, 601):
    eps = max(0.3, 1.0 - t / 300)
    with torch.no_grad():
        greedy = q(obs).argmax(1).tolist()
    acts = [random.randint(0, 1) if random.random() < eps else g for g in greedy]
    nxt, rew, done = env.step(acts)
    for i in range(len(acts)):
        buf.push(obs[i], acts[i], rew[i], nxt[i], done[i])
    obs = nxt
    if t < 30:
        continue
    s, a, r, s2, d = buf.sample(64)
    with torch.no_grad():
        y = r + GAMMA * target_q(s2).max(1).values
    qa = q(s).gather(1, a[:, None]).squeeze(1)
    loss = F.smooth_l1_loss(qa, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if t % 10 == 0:
        target_q.load_state_dict(q.state_dict())
    if t % 100 == 0:
        print(f"t={t} loss={loss.item():.4f} mean q={qa.mean().item():.3f} greedy return={greedy_return(q):.2f}")
