"""A student of a larger network that was trained elsewhere; both live in one module."""

import torch
from torch import nn


class Distiller(nn.Module):
    def __init__(self, student, teacher):
        super().__init__()
        self.student = student
        self.teacher = teacher
        for p in self.teacher.parameters():
            p.requires_grad = False

    def forward(self, x):
        with torch.no_grad():
            wanted = self.teacher(x)
        return self.student(x), wanted


def conv_net(width, out=6):
    return nn.Sequential(
        nn.Conv1d(1, width, 5, padding=2, bias=False),
        nn.BatchNorm1d(width),
        nn.ReLU(),
        nn.Conv1d(width, width, 5, padding=2, bias=False),
        nn.BatchNorm1d(width),
        nn.ReLU(),
        nn.AdaptiveAvgPool1d(4),
        nn.Flatten(),
        nn.Linear(4 * width, out),
    )


def waves(count):
    time = torch.linspace(0, 6.28, 48)
    speed, phase = 1 + 3 * torch.rand(count, 1), 6.28 * torch.rand(count, 1)
    return (torch.sin(speed * time + phase) + 0.1 * torch.randn(count, 48)).unsqueeze(1)


torch.manual_seed(3)
teacher = conv_net(24)
for module in teacher:
    if isinstance(module, nn.BatchNorm1d):
        module.running_mean.normal_(std=0.3)
        module.running_var.uniform_(0.3, 1.5)

model = Distiller(conv_net(8), teacher)
optimizer = torch.optim.Adam(model.student.parameters(), lr=5e-3)
for epoch in range(5):
    model.train()
    total = 0.0
    for _ in range(25):
        answer, wanted = model(waves(32))
        loss = nn.functional.mse_loss(answer, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / 25:.5f}")
