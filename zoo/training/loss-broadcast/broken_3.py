"""Value function of a random walk, learned by TD(0) from stored transitions."""
import torch
import torch.nn.functional as F
from torch import nn

STATES = 11
GAMMA = 0.95


def collect(n):
    state = torch.randint(1, STATES - 1, (n,))
    nxt = state + torch.randint(0, 2, (n,)) * 2 - 1
    reward = (nxt == STATES - 1).float() - (nxt == 0).float()
    done = ((nxt == 0) | (nxt == STATES - 1)).float()
    return F.one_hot(state, STATES).float(), reward, F.one_hot(nxt, STATES).float(), done


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(STATES, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, s):
        return self.net(s)


def main():
    torch.manual_seed(14)
    critic = Critic()
    optimizer = torch.optim.Adam(critic.parameters(), lr=5e-3)
    for update in range(300):
        state, reward, nxt, done = collect(64)
        with torch.no_grad():
            target = reward + GAMMA * (1 - done) * critic(nxt).squeeze(1)
        loss = F.smooth_l1_loss(critic(state), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if update % 60 == 0:
            print(f"update {update}: td loss {loss.item():.4f}")
    values = critic(torch.eye(STATES)).squeeze(1)
    print("left", round(values[1].item(), 2), "right", round(values[-2].item(), 2))


if __name__ == "__main__":
    main()
