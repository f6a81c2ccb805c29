"""REINFORCE with masked actions; the entropy uses the finite terms only."""
import torch
from torch import nn

torch.manual_seed(14)
policy = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 4))
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
base = 0.5
for it in range(120):
    value = torch.rand(64, 4)
    legal = torch.rand(64, 4) > 0.3
    legal[:, 0] = True
    logits = policy(torch.cat([value, legal.float()], 1)).masked_fill(~legal, -torch.inf)
    dist = torch.distributions.Categorical(logits=logits)
    a = dist.sample()
    reward = value.gather(1, a[:, None]).squeeze(1)
    logp = logits.log_softmax(-1)
    terms = torch.where(legal, logp.exp() * logp.masked_fill(~legal, 0.0), torch.zeros_like(logp))
    loss = -(dist.log_prob(a) * (reward - base)).mean() + 0.001 * terms.sum(1).mean()
    base = 0.95 * base + 0.05 * reward.mean().item()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 20 == 0:
        print(it, "reward", reward.mean().item())
print("final reward", reward.mean().item())
