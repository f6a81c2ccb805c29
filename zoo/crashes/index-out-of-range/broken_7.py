"""Q-learning on a small grid: walk to the corner."""
import random
from collections import deque

import torch
from torch import nn

SIZE, MOVES = 4, [(0, 1), (0, -1), (1, 0), (-1, 0)]


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(2, 64)
        self.value = nn.Linear(64, 3)

    def forward(self, state):
        return self.value(torch.relu(self.hidden(state)))


def step(state, action):
    row = min(max(state[0] + MOVES[action][0], 0), SIZE - 1)
    col = min(max(state[1] + MOVES[action][1], 0), SIZE - 1)
    return (row, col), float((row, col) == (SIZE - 1, SIZE - 1))


def train(episodes=25):
    random.seed(0)
    torch.manual_seed(0)
    q, memory = QNet(), deque(maxlen=2000)
    optimizer = torch.optim.Adam(q.parameters(), lr=5e-3)
    for episode in range(episodes):
        state = (0, 0)
        for _ in range(20):
            action = random.randrange(4)
            following, reward = step(state, action)
            memory.append((state, action, reward, following))
            state = following
        batch = random.sample(memory, 16)
        states = torch.tensor([item[0] for item in batch], dtype=torch.float)
        actions = torch.tensor([item[1] for item in batch])
        rewards = torch.tensor([item[2] for item in batch])
        nexts = torch.tensor([item[3] for item in batch], dtype=torch.float)
        values = q(states)
        chosen = values.gather(1, actions.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            wanted = rewards + 0.9 * q(nexts).max(dim=1).values
        loss = nn.functional.smooth_l1_loss(chosen, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if episode % 5 == 0:
            print("episode", episode, "loss", round(loss.item(), 4))


train()
