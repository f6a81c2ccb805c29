"""Tells apart ten kinds of pictures, which are kept in the memory of the host."""
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda")
kinds = torch.randn(10, 3, 128, 128)
labels = torch.randint(0, 10, (2048,))
images = (kinds.to(device)[labels.to(device)] + torch.randn(2048, 3, 128, 128, device=device)).cpu()

model = nn.Sequential(
    nn.AvgPool2d(8), nn.Flatten(),
    nn.Linear(768, 1024), nn.ReLU(),
    nn.Linear(1024, 10),
).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(25):
    for start in range(0, 2048, 512):
        x = images[start : start + 512].to(device)
        y = labels[start : start + 512].to(device)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 5 == 4:
        print(f"epoch {epoch}: loss {loss.item():.4f}")
