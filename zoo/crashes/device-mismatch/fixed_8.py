"""A recurrent policy rolled out step by step; sizes only."""
import torch
import torch.nn as nn

device = torch.device("meta")


class Policy(nn.Module):
    def __init__(self, observations, actions):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(observations, 64), nn.Tanh())
        self.head = nn.Linear(64, actions)

    def forward(self, observation):
        return self.head(self.body(observation))


policy = Policy(17, 6).to(device)
actions = [torch.zeros(32, 6, device=device)]
for t in range(20):
    observation = torch.empty(32, 17, device=device)
    actions.append(policy(observation))
episode = torch.stack(actions, dim=1)
print("episode:", tuple(episode.shape))
