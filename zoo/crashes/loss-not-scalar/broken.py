"""Classification with rare classes counted more."""
import torch
import torch.nn as nn

torch.manual_seed(0)
centers = torch.randn(4, 10)
importance = torch.tensor([1.0, 1.0, 2.0, 4.0])
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss(reduction="none")

for step in range(120):
    labels = torch.multinomial(torch.tensor([0.5, 0.3, 0.15, 0.05]), 64, replacement=True)
    logits = model(centers[labels] + 0.4 * torch.randn(64, 10))
    loss = criterion(logits, labels) * importance[labels]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} loss {loss.mean().item():.3f}")
