import copy
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)
random.seed(7)
SIDE, GAMMA = 5, 0.9
MOVES = [(0, 1), (0, -1), (1, 0), (-1, 0)]


class Grid:
    def reset(self):
        self.pos = (random.randrange(SIDE), random.randrange(SIDE))
        self.t = 0
        return self.pos

    @staticmethod
    def move(pos, a):
        r = min(max(pos[0] + MOVES[a][0], 0), SIDE - 1)
        c = min(max(pos[1] + MOVES[a][1], 0), SIDE - 1)
        done = (r, c) == (SIDE - 1, SIDE - 1)
        return (r, c), (1.0 if done else 0.0), done

    def step(self, a):
        self.pos, reward, done = self.move(self.pos, a)
        self.t += 1
        return self.pos, reward, done


def encode(positions):
    idx = torch.tensor([r * SIDE + c for r, c in positions])
    return F.one_hot(idx, SIDE * SIDE).float()


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.online = nn.Sequential(nn.Linear(SIDE * SIDE, 64), nn.ReLU(), nn.Linear(64, 4))
        self.target = copy.deepcopy(self.online)

    def act(self, pos, eps):
        if random.random() < eps:
            return random.randrange(4)
        with torch.no_grad():
            return self.online(encode([pos])).argmax(1).item()

    def sync(self):
        self.target.load_state_dict(self.online.state_dict())


def true_q():
    q = torch.zeros(SIDE, SIDE, 4)
    for _ in range(60):
        v = q.max(-1).values
        new = torch.zeros_like(q)
        for r in range(SIDE):
            for c in range(SIDE):
                for a in range(4):
                    (r2, c2), rew, done = Grid.move((r, c), a)
                    new[r, c, a] = rew + (0.0 if done else GAMMA * v[r2, c2].item())
        q = new
    return q.view(-1, 4)


agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=2e-3)
memory = deque(maxlen=4000)
reference = true_q()[:-1]
env = Grid()
state = env.reset()
updates = 0

for step in range(1200):
    eps = max(0.2, 1.0 - step / 600)
    action = agent.act(state, eps)
    nxt, reward, done = env.step(action)
    memory.append((state, action, reward, nxt, float(done)))
    state = env.reset() if done or env.t > 40 else nxt

    if len(memory) >= 200 and step % 2 == 0:
        s, a, r, s2, d = zip(*random.sample(memory, 64))
        q = agent.online(encode(s)).gather(1, torch.tensor(a).unsqueeze(1)).squeeze(1)
        q_next = agent.target(encode(s2)).max(1).values
        target = torch.tensor(r) + GAMMA * (1 - torch.tensor(d)) * q_next
        loss = F.smooth_l1_loss(q, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        updates += 1
        if updates % 25 == 0:
            agent.sync()
        if updates % 125 == 0:
            with torch.no_grad():
                every = encode([(i // SIDE, i % SIDE) for i in range(SIDE * SIDE - 1)])
                err = (agent.online(every) - reference).abs().mean().item()
            print(f"update {updates} loss {loss.item():.5f} mean |Q - Q*| {err:.3f}")
