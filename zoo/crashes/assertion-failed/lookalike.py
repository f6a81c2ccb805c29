"""A regression whose loop checks shapes, ranges and numbers at every turn; one check that fails is handled."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
truth = torch.randn(6, 1)


def checked(batch):
    assert batch.shape[1:] == (6,), f"odd batch {tuple(batch.shape)}"
    return batch


skipped = 0
for step in range(120):
    x = torch.randn(32, 6) if step % 10 else torch.randn(32, 5)
    try:
        x = checked(x)
    except AssertionError:
        skipped += 1
        continue
    y = x @ truth
    out = model(x)
    assert out.dim() == 2 and out.shape == y.shape
    loss = nn.functional.mse_loss(out, y)
    assert torch.isfinite(loss), "not finite"
    optimizer.zero_grad()
    loss.backward()
    assert all(p.grad is not None for p in model.parameters())
    optimizer.step()
print(loss.item(), skipped)
