# Gradual unfreezing: the body joins after some epochs.
import torch
from torch import nn

torch.manual_seed(1)
table = torch.randn(600, 8)
answer = (table[:, :4] * table[:, 4:]).sum(dim=1, keepdim=True)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.top = nn.Linear(64, 1)

    def forward(self, x):
        return self.top(self.body(x))


def set_training(part, on):
    for weight in part.parameters():
        weight.requires_grad = on


model = Model()
for weight in model.body.parameters():
    weight.requires_grad = False
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(30):
    if epoch == 4:
        set_training(model.body, True)
    total = 0.0
    for rows in torch.randperm(600).split(60):
        loss = nn.functional.mse_loss(model(table[rows]), answer[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / 10
    if epoch % 5 == 0:
        print(epoch, round(total, 4))
