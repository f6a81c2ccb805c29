"""A small classifier that keeps its loss history for a plot at the end."""
import torch
import torch.nn as nn

torch.manual_seed(0)
centers = torch.randn(4, 20)
net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 4))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

losses = []
for step in range(300):
    y = torch.randint(0, 4, (64,))
    x = centers[y] + torch.randn(64, 20)
    loss = criterion(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss)
    if step % 100 == 99:
        print(f"step {step + 1}, mean of the last 100 {torch.stack(losses[-100:]).mean():.4f}")
