"""Q-learning on a corridor of states with a replay memory."""
import random

import torch
from torch import nn


class QNetwork(nn.Module):
    def __init__(self, states=8, actions=2):
        super().__init__()
        self.states = states
        self.layers = nn.Sequential(nn.Linear(states, 32), nn.ReLU(), nn.Linear(32, actions))

    def forward(self, state):
        return self.layers(nn.functional.one_hot(state, self.states).float())


class Learner:
    def __init__(self, gamma=0.9):
        self.gamma = gamma
        self.policy_net = QNetwork()
        self.target_net = QNetwork()
        self.target_net.load_state_dict(self.policy_net.state_dict())
        self.optimizer = torch.optim.Adam(self.policy_net.parameters(), lr=5e-3)
        self.updates = 0

    def update(self, batch):
        state, action, reward, following, done = (torch.tensor(column) for column in zip(*batch))
        with torch.no_grad():
            best = self.target_net(following).max(1).values
            wanted = reward + self.gamma * (1 - done) * best
        value = self.policy_net(state).gather(1, action[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(value, wanted)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        if self.updates % 20 == 0:
            self.target_net.load_state_dict(self.policy_net.state_dict())
        return loss.item()


def transition(states=8):
    state, action = random.randrange(states - 1), random.randrange(2)
    following = max(0, state + (1 if action else -1))
    arrived = following == states - 1
    return state, action, float(arrived), following, float(arrived)


random.seed(1)
torch.manual_seed(1)
memory = [transition() for _ in range(600)]
learner = Learner()
for step in range(300):
    loss = learner.update(random.sample(memory, 32))
    if step % 60 == 0:
        start = learner.policy_net(torch.tensor([0])).max().item()
        print(f"step {step}: loss {loss:.4f}, value of the start {start:.3f}")
