"""PPO-style update with masked actions, ratios for all actions."""
import torch
from torch import nn

N_ACT = 6


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 32), nn.Tanh())
        self.pi = nn.Linear(32, N_ACT)

    def forward(self, s, legal):
        logits = self.pi(self.body(s))
        return torch.log_softmax(logits.masked_fill(~legal, -1e9), dim=-1)


class PPO:
    def __init__(self, clip=0.2):
        self.actor, self.clip = Actor(), clip
        self.critic = nn.Linear(8, 1)
        self.opt = torch.optim.Adam([*self.actor.parameters(), *self.critic.parameters()], lr=3e-3)

    def surrogate(self, new, old, adv):
        ratio = (new - old).exp()
        return -torch.min(ratio * adv, ratio.clamp(1 - self.clip, 1 + self.clip) * adv).mean()

    def collect(self, n=64):
        s = torch.randn(n, 8)
        legal = torch.ones(n, N_ACT, dtype=torch.bool)
        legal[:, 4] = s[:, 7] < 1.5
        with torch.no_grad():
            old = self.actor(s, legal)
            q = s[:, :N_ACT]
            adv = q - self.critic(s)
        return s, legal, old, adv, q

    def update(self, epochs=2):
        s, legal, old, adv, q = self.collect()
        for _ in range(epochs):
            new = self.actor(s, legal)
            v_loss = (self.critic(s) - (old.exp() * q).sum(1, keepdim=True)).pow(2).mean()
            loss = self.surrogate(new, old, adv) + 0.5 * v_loss
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        return loss.item()


torch.manual_seed(0)
ppo = PPO()
for it in range(15):
    print(it, ppo.update())
