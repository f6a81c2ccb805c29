"""Fine-tune the last layer of a trained network, continuing with the optimizer's state."""
import copy

import torch
from torch import nn

torch.manual_seed(0)
weights = torch.randn(8, 3)


def train(model, optimizer, steps):
    for step in range(steps):
        x = torch.randn(64, 8)
        loss = nn.functional.cross_entropy(model(x), (x @ weights).argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
train(model, optimizer, 60)
saved = copy.deepcopy(optimizer.state_dict())

for parameter in model[0].parameters():
    parameter.requires_grad = False
tuner = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.005)
tuner.load_state_dict(saved)
print("loss", train(model, tuner, 40))
