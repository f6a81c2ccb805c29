"""DQN with replay memory and a target network on a one-dimensional toy world."""
import copy
import random
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn


class World:
    """Stay near the origin; pushes of -1, 0, +1 against a drift."""

    def reset(self):
        self.x, self.t = random.uniform(-1, 1), 0
        return self.state()

    def state(self):
        return torch.tensor([self.x, self.t / 20])

    def step(self, action):
        self.x += 0.3 * (action - 1) + random.gauss(0, 0.05)
        self.t += 1
        return self.state(), -abs(self.x), self.t >= 20


class Agent:
    def __init__(self):
        self.q = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 3))
        self.target = copy.deepcopy(self.q)
        self.optimizer = torch.optim.Adam(self.q.parameters(), lr=5e-3)
        self.memory = deque(maxlen=2000)

    def act(self, state, epsilon):
        if random.random() < epsilon:
            return random.randrange(3)
        with torch.no_grad():
            return self.q(state).argmax().item()

    def learn(self, batch_size=32, gamma=0.9):
        batch = random.sample(self.memory, batch_size)
        s, a, r, s2, done = zip(*batch)
        s, s2 = torch.stack(s), torch.stack(s2)
        a, r, done = torch.tensor(a), torch.tensor(r), torch.tensor(done, dtype=torch.float32)
        with torch.no_grad():
            wanted = r + gamma * (1 - done) * self.target(s2).max(dim=1).values
        chosen = self.q(s).gather(1, a.unsqueeze(1)).squeeze(1)
        loss = F.smooth_l1_loss(chosen, wanted)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(self.q.parameters(), 100)
        self.optimizer.step()
        return loss.item()


def main():
    random.seed(0)
    torch.manual_seed(0)
    world, agent, updates = World(), Agent(), 0
    for number in range(30):
        state, score, done = world.reset(), 0.0, False
        epsilon = max(0.05, 0.9 - number / 20)
        while not done:
            action = agent.act(state, epsilon)
            nxt, reward, done = world.step(action)
            agent.memory.append((state, action, reward, nxt, done))
            state, score = nxt, score + reward
            if len(agent.memory) >= 64:
                loss = agent.learn()
                updates += 1
                if updates % 50 == 0:
                    agent.target.load_state_dict(agent.q.state_dict())
        if number % 5 == 4:
            print(f"episode {number + 1}: score {score:.2f}, td loss {loss:.4f}")


if __name__ == "__main__":
    main()
