# Behaviour cloning: log-probabilities of the expert's action, by hand.
import torch
from torch import nn

torch.manual_seed(0)
expert = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 4))
for p in expert.parameters():
    p.requires_grad_(False)
    p.mul_(3)
policy = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 4), nn.LogSoftmax(dim=1))
optim = torch.optim.Adam(policy.parameters(), lr=2e-3)
for step in range(250):
    state = torch.randn(64, 5)
    action = expert(state).argmax(1)
    logp = policy(state)
    loss = -logp.gather(1, action.unsqueeze(1)).mean()
    optim.zero_grad()
    loss.backward()
    optim.step()
    if step % 50 == 0:
        print(step, loss.item())
