"""Q-learning on a toy task with a replay memory of screens."""
import torch
import torch.nn as nn


class Memory:
    def __init__(self, capacity, shape):
        self.capacity = capacity
        self.screens = torch.zeros(capacity, *shape)
        self.rewards = torch.zeros(capacity)
        self.count = 0

    def push(self, screen, reward):
        place = self.count % self.capacity
        self.screens[place] = screen
        self.rewards[place] = reward
        self.count += 1

    def sample(self, size):
        chosen = torch.randint(0, min(self.count, self.capacity), (size,))
        return self.screens[chosen], self.rewards[chosen]


torch.manual_seed(0)
memory = Memory(100_000_000, (4, 84, 84))
net = nn.Sequential(nn.Flatten(), nn.Linear(4 * 84 * 84, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
for step in range(30):
    screen = torch.rand(4, 84, 84)
    memory.push(screen, screen[0].mean() * 10)
    screens, rewards = memory.sample(8)
    loss = nn.functional.mse_loss(net(screens).squeeze(1), rewards)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, round(loss.item(), 3))
