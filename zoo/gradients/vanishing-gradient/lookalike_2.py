"""A small exactly solvable regression: it converges early and its gradients become tiny."""
import torch
from torch import nn

torch.manual_seed(2)
teacher = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1)).requires_grad_(False)
student = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.98)
x = torch.randn(8, 4)
y = teacher(x)

for epoch in range(401):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(student(x), y)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(student.parameters(), 10.0)
    optimizer.step()
    scheduler.step()
    if epoch % 80 == 0:
        print(f"epoch {epoch}: loss {loss.item():.2e}, gradient norm {norm.item():.2e}")
