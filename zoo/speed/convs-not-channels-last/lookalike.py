"""A network with one convolution in front tells apart ten kinds of pictures."""
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda")
kinds = torch.randn(10, 3, 112, 112, device=device)

model = nn.Sequential(
    nn.Conv2d(3, 64, 16, stride=16), nn.GELU(), nn.Flatten(), nn.Linear(3136, 4096), nn.GELU(),
    nn.Linear(4096, 4096), nn.GELU(), nn.Linear(4096, 10),
).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for step in range(1, 101):
    labels = torch.randint(0, 10, (256,), device=device)
    images = kinds[labels] + torch.randn(256, 3, 112, 112, device=device)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
