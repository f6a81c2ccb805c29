"""A classifier whose loop moves the inputs."""
import torch
import torch.nn as nn

torch.manual_seed(0)
device = torch.device("cuda:0")
net = nn.Linear(20, 5).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def batches(n):
    for _ in range(n):
        yield torch.randn(16, 20), torch.randint(0, 5, (16,))


for inputs, targets in batches(20):
    outputs = net(inputs.to(device))
    loss = criterion(outputs, targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
