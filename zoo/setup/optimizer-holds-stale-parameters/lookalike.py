"""Mean teacher: a copy of the network with the same shapes is called with gradients on, and never trained."""
import copy

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(2)
student = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
teacher = copy.deepcopy(student)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
centers = torch.randn(4, 10)

for step in range(200):
    labels = torch.randint(0, 4, (16,))
    x = centers[labels] + 0.3 * torch.randn(16, 10)
    extra = centers[torch.randint(0, 4, (48,))] + 0.3 * torch.randn(48, 10)
    wanted = teacher(extra + 0.1 * torch.randn_like(extra)).softmax(dim=1).detach()
    guess = student(extra).log_softmax(dim=1)
    loss = F.cross_entropy(student(x), labels) + 0.5 * F.kl_div(guess, wanted, reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(teacher.parameters(), student.parameters()):
            slow.lerp_(fast, 0.05)
    if step % 50 == 0:
        print(step, loss.item())
