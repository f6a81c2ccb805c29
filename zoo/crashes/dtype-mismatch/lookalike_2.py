"""Mixed dtypes that are all intended: float64 data cast, int labels, bool masks, half-precision storage."""
import numpy as np
import torch
from torch import nn

torch.manual_seed(3)
rng = np.random.default_rng(3)
stored = torch.from_numpy(rng.normal(size=(300, 6))).half()
label = torch.from_numpy(rng.integers(0, 3, size=300).astype(np.int32))
keep = torch.rand(300) > 0.1
shift = torch.eye(3)[label.long()].repeat(1, 2)

model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3)).double()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(100):
    logits = model(stored.double() + shift)
    loss = nn.functional.cross_entropy(logits[keep], label.long()[keep])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        print(f"epoch {epoch}: {loss.item():.4f}")
