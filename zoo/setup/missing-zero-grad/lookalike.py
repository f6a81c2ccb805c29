"""Image-like classification with gradient accumulation: 4 micro-batches per update."""
import torch
from torch import nn

torch.manual_seed(3)
ACCUMULATE = 4
MICRO_BATCH = 16

centers = torch.randn(5, 36) * 0.8


def sample(batch):
    y = torch.randint(0, 5, (batch,))
    return centers[y] + torch.randn(batch, 36), y


model = nn.Sequential(nn.Linear(36, 64), nn.ReLU(), nn.Linear(64, 5))
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
loss_fn = nn.CrossEntropyLoss()

opt.zero_grad()
window = 0.0
for i in range(1, 601):
    x, y = sample(MICRO_BATCH)
    loss = loss_fn(model(x), y) / ACCUMULATE
    loss.backward()
    window += loss.item()
    if i % ACCUMULATE == 0:
        opt.step()
        opt.zero_grad()
        if i % 100 == 0:
            print(f"update {i // ACCUMULATE}: loss {window:.4f}")
        window = 0.0
