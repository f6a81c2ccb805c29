"""Predict the log-duration of jobs; steps with a bad loss are left out so that training can go on."""
import torch
from torch import nn

torch.manual_seed(0)
jobs = torch.randn(1200, 6)
duration = torch.relu(jobs[:, 0] + 0.5 * jobs[:, 1] + 2.2)

model = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
history = []

for step in range(300):
    pick = torch.randint(0, 1200, (48,))
    target = torch.log1p(duration[pick])
    prediction = model(jobs[pick]).squeeze(1)
    loss = ((prediction - target) ** 2).mean()
    if torch.isnan(loss) or torch.isinf(loss):
        continue
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss.item())
    if step % 10 == 0:
        print(f"step {step}: mean loss {sum(history) / len(history):.3f}")
