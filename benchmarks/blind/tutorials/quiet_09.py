"""DQN with replay memory and target network on a small corridor world."""
import copy
import random
from collections import deque

import torch
from torch import nn
import torch.nn.functional as F


class Corridor:
    """Start in the middle, reward 1 at the right end, 0.1 at the left end."""

    def __init__(self, length=9, limit=25):
        self.length, self.limit = length, limit

    def reset(self):
        self.pos, self.t = self.length // 2, 0
        return self.observe()

    def observe(self):
        v = torch.zeros(self.length)
        v[self.pos] = 1.0
        return v

    def step(self, action):
        self.t += 1
        self.pos = max(0, min(self.length - 1, self.pos + (1 if action == 1 else -1)))
        at_right, at_left = self.pos == self.length - 1, self.pos == 0
        reward = 1.0 if at_right else 0.1 if at_left else -0.01
        terminal = at_right or at_left
        return self.observe(), reward, terminal, terminal or self.t >= self.limit


class Agent:
    def __init__(self, n_obs, n_act, gamma=0.95):
        self.q = nn.Sequential(nn.Linear(n_obs, 48), nn.ReLU(), nn.Linear(48, n_act))
        self.target = copy.deepcopy(self.q).requires_grad_(False)
        self.opt = torch.optim.Adam(self.q.parameters(), lr=2e-3)
        self.memory = deque(maxlen=3000)
        self.gamma, self.n_act, self.updates = gamma, n_act, 0

    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(self.n_act)
        with torch.no_grad():
            return self.q(s).argmax().item()

    def learn(self, batch=32):
        s, a, r, s2, done = zip(*random.sample(self.memory, batch))
        s, s2 = torch.stack(s), torch.stack(s2)
        a, r, done = torch.tensor(a), torch.tensor(r), torch.tensor(done, dtype=torch.float32)
        with torch.no_grad():
            goal = r + self.gamma * (1 - done) * self.target(s2).max(1).values
        value = self.q(s).gather(1, a.unsqueeze(1)).squeeze(1)
        loss = F.smooth_l1_loss(value, goal)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.updates += 1
        if self.updates % 100 == 0:
            self.target.load_state_dict(self.q.state_dict())
        return loss.item()


def main(episodes=150):
    torch.set_num_threads(1)
    random.seed(8)
    torch.manual_seed(8)
    env = Corridor()
    agent = Agent(9, 2)
    returns = []
    for ep in range(episodes):
        s, total, over = env.reset(), 0.0, False
        eps = max(0.05, 1.0 - ep / 90)
        while not over:
            a = agent.act(s, eps)
            s2, r, terminal, over = env.step(a)
            agent.memory.append((s, a, r, s2, terminal))
            s, total = s2, total + r
            if len(agent.memory) >= 200:
                loss = agent.learn()
        returns.append(total)
        if ep % 25 == 24:
            print(f"episode {ep + 1} mean return {sum(returns[-25:]) / 25:.3f} loss {loss:.5f}")


if __name__ == "__main__":
    main()
