"""Actor and critic with an optimizer each: both are clipped between their own backward and step."""
import torch
from torch import nn

torch.manual_seed(2)
actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
actor_opt = torch.optim.Adam(actor.parameters(), lr=3e-3)
critic_opt = torch.optim.Adam(critic.parameters(), lr=1e-2)
for update in range(150):
    state = torch.randn(64, 4)
    policy = torch.distributions.Categorical(logits=actor(state))
    action = policy.sample()
    reward = (action == (state[:, 0] > 0)).float()
    value = critic(state).squeeze(1)

    critic_loss = nn.functional.mse_loss(value, reward)
    critic_opt.zero_grad()
    critic_loss.backward()
    nn.utils.clip_grad_norm_(critic.parameters(), 0.5)
    critic_opt.step()

    actor_loss = -(policy.log_prob(action) * (reward - value.detach())).mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    nn.utils.clip_grad_norm_(actor.parameters(), 0.5)
    actor_opt.step()
    if update % 30 == 0:
        print(update, round(reward.mean().item(), 3))
