"""Classifies noisy patterns; half of the noise of each batch is drawn on the CPU while the loop runs."""
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
torch.set_float32_matmul_precision("high")
rng = np.random.default_rng(0)
device = torch.device("cuda")
patterns = rng.standard_normal((10, 1024), dtype=np.float32)


def draw_batch(size=256):
    labels = rng.integers(0, 10, size)
    noisy = patterns[labels] + rng.standard_normal((size, 1024), dtype=np.float32)
    images, labels = torch.from_numpy(noisy).pin_memory(), torch.from_numpy(labels).pin_memory()
    return images.to(device, non_blocking=True), labels.to(device, non_blocking=True)


model = nn.Sequential(
    nn.Linear(1024, 8192), nn.LayerNorm(8192), nn.GELU(),
    nn.Linear(8192, 8192), nn.LayerNorm(8192), nn.GELU(),
    nn.Linear(8192, 8192), nn.LayerNorm(8192), nn.GELU(),
    nn.Linear(8192, 10),
).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
running = 0.0
for step in range(1, 121):
    images, labels = draw_batch()
    images = images.repeat(12, 1) + torch.randn(3072, 1024, device=device)
    loss = nn.functional.cross_entropy(model(images), labels.repeat(12))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    running += loss.detach()
    if step % 40 == 0:
        print(f"step {step}: loss {running / 40:.4f}")
        running = 0.0
