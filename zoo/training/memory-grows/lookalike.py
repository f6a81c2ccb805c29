"""REINFORCE on a balancing game: log-probabilities are kept with their graph, but only for one episode."""
import torch
from torch import nn

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, state):
        return torch.distributions.Categorical(logits=self.body(state))


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
lengths = []
for episode in range(80):
    state = torch.tensor([0.0, 0.0]) + 0.1 * torch.randn(2)
    for _ in range(20):
        distribution = policy(state)
        action = distribution.sample()
        policy.saved_log_probs.append(distribution.log_prob(action))
        push = 0.2 * (2.0 * action.float() - 1.0)
        velocity = state[1] + push + 0.15 * state[0]
        state = torch.stack((state[0] + 0.3 * velocity, velocity)).detach()
        policy.rewards.append(1.0)
        if state[0].abs() > 1.0:
            break
    returns = torch.arange(len(policy.rewards), 0, -1, dtype=torch.float32) / 20
    terms = [-log_prob * (value - 0.5) for log_prob, value in zip(policy.saved_log_probs, returns)]
    policy_loss = 0
    for term in terms:
        policy_loss = policy_loss + term
    optimizer.zero_grad()
    policy_loss.backward()
    optimizer.step()
    lengths.append(len(policy.rewards))
    policy.saved_log_probs.clear()
    policy.rewards.clear()
print("mean length of the last 20 episodes", sum(lengths[-20:]) / 20)
