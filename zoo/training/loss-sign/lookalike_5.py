"""Policy gradient with costs: what an action costs, times its log-probability, is to fall."""
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
baseline = 0.5
for episode in range(250):
    state = torch.randn(64, 4)
    choice = Categorical(logits=policy(state))
    action = choice.sample()
    reward = (action == state.argmax(1)).float()
    advantage = baseline - reward
    loss = (choice.log_prob(action) * advantage).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    baseline = 0.9 * baseline + 0.1 * reward.mean().item()
    if episode % 50 == 0:
        print(episode, reward.mean().item())
