"""REINFORCE with a value baseline on a corridor: walk right to the reward."""
import torch
from torch import nn
from torch.distributions import Categorical

LENGTH, LIMIT, GAMMA = 6, 16, 0.97


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(LENGTH, 24), nn.Tanh())
        self.policy = nn.Linear(24, 2)
        self.value = nn.Linear(24, 1)

    def forward(self, s):
        h = self.body(s)
        return Categorical(logits=self.policy(h)), self.value(h).squeeze(-1)


def one_hot(position):
    return torch.eye(LENGTH)[position]


def episode(agent):
    position, log_probs, values, rewards = 0, [], [], []
    for _ in range(LIMIT):
        dist, value = agent(one_hot(position))
        action = dist.sample()
        position = max(0, position + (1 if action.item() == 1 else -1))
        log_probs.append(dist.log_prob(action))
        values.append(value)
        rewards.append(1.0 if position == LENGTH - 1 else -0.05)
        if position == LENGTH - 1:
            break
    return torch.stack(log_probs), torch.stack(values), rewards


def returns(rewards):
    total, out = 0.0, []
    for r in reversed(rewards):
        total = r + GAMMA * total
        out.append(total)
    return torch.tensor(out[::-1])


torch.manual_seed(543)
agent = ActorCritic()
optimizer = torch.optim.Adam(agent.parameters(), lr=1e-2)
average = 0.0
for n in range(1, 151):
    log_probs, values, rewards = episode(agent)
    R = returns(rewards)
    advantage = R - values.detach()
    loss = -(log_probs * advantage).sum() + 0.5 * (R - values).pow(2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average = 0.95 * average + 0.05 * sum(rewards)
    if n % 30 == 0:
        print(f"Episode {n}\tLoss: {loss.item():.3f}\tAverage reward: {average:.2f}")
