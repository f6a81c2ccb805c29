"""Labels that never were on the CPU."""
import torch
import torch.nn as nn

torch.manual_seed(0)
device = torch.device("cuda")
net = nn.Linear(16, 4).to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(5):
    x = torch.randn(32, 16, device=device)
    y = torch.randint(0, 5, (32,), device=device)
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
