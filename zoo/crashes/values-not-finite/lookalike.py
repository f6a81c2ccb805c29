"""Samples actions from scores that are no probabilities."""
import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Linear(4, 3)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
for step in range(5):
    state = torch.randn(8, 4)
    loss = policy(state).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
action = torch.multinomial(policy(torch.randn(8, 4)), 1)
print(action)
