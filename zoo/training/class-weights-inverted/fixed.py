"""Find rare faults among machine readings: three classes, very unequal."""
import torch
from torch import nn

torch.manual_seed(0)
counts = torch.tensor([1600, 300, 100])
label = torch.repeat_interleave(torch.arange(3), counts)
offset = torch.tensor([[0.0, 0.0], [1.2, 0.3], [0.2, 1.6]])
reading = torch.cat([offset[label] + 0.8 * torch.randn(2000, 2), torch.randn(2000, 6)], dim=1)

weight = counts.sum() / (3 * counts)
criterion = nn.CrossEntropyLoss(weight=weight)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(4):
    order = torch.randperm(2000)
    for start in range(0, 2000, 50):
        pick = order[start:start + 50]
        scores = model(reading[pick])
        loss = criterion(scores, label[pick])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    found = (model(reading).argmax(1) == label)[label == 2].float().mean()
    print(f"epoch {epoch}: loss {loss.item():.3f}, faults found {found:.0%}")
