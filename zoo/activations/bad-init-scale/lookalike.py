"""Large start values under LayerNorm: the scale is normalised away after every layer."""
import torch
from torch import nn

torch.manual_seed(0)
layers = []
for inputs, outputs in [(12, 48), (48, 48), (48, 48), (48, 48)]:
    linear = nn.Linear(inputs, outputs)
    nn.init.normal_(linear.weight, std=1.0)
    layers += [linear, nn.LayerNorm(outputs), nn.ReLU()]
model = nn.Sequential(*layers, nn.Linear(48, 4))
centers = torch.randn(4, 12)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(250):
    y = torch.randint(0, 4, (64,))
    loss = nn.functional.cross_entropy(model(centers[y] + torch.randn(64, 12)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
