"""A convolutional network tells apart ten kinds of pictures."""
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda")
kinds = torch.randn(10, 3, 112, 112, device=device)


def block(given, made, stride=1):
    conv = nn.Conv2d(given, made, 3, stride=stride, padding=1, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(made), nn.ReLU())


model = nn.Sequential(
    block(3, 64, 2), block(64, 128), block(128, 128), block(128, 128), block(128, 256, 2), block(256, 256),
    block(256, 256), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(4096, 10),
).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for step in range(1, 81):
    labels = torch.randint(0, 10, (256,), device=device)
    images = kinds[labels] + torch.randn(256, 3, 112, 112, device=device)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
