"""A teacher without gradients, and a student that follows it."""
import torch
import torch.nn as nn

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2))
student = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)
for step in range(120):
    x = torch.randn(64, 6)
    with torch.no_grad():
        wanted = teacher(x)
    loss = (student(x) - wanted.detach()).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
