"""Value estimates of a game; what comes after the end of a round does not count."""
import torch
from torch import nn

torch.manual_seed(12)
value = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(value.parameters(), lr=5e-3)


def rounds(n=64):
    state = torch.randn(n, 4)
    following = 0.9 * state + 0.1 * torch.randn(n, 4)
    finished = torch.rand(n) < 0.3
    reward = state[:, 0]
    return state, following, reward, finished


for step in range(100):
    state, following, reward, finished = rounds()
    with torch.no_grad():
        keep = ~finished
        wanted = reward + 0.5 * keep * value(following).squeeze(1)
    loss = nn.functional.mse_loss(value(state).squeeze(1), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0:
        print(f"step {step} mse {loss.item():.4f}")
