"""Linear probe: a frozen random-feature backbone, only the head is optimised."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

backbone = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
head = nn.Linear(128, 3)
model = nn.Sequential(backbone, head)

for param in backbone.parameters():
    param.requires_grad_(False)

means = torch.randn(3, 16)
labels = torch.randint(0, 3, (960,))
data = TensorDataset(means[labels] + torch.randn(960, 16) * 1.5, labels)
loader = DataLoader(data, batch_size=48, shuffle=True)

optimizer = torch.optim.SGD(head.parameters(), lr=0.05, momentum=0.9)
criterion = nn.CrossEntropyLoss()
for epoch in range(10):
    for inputs, target in loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), target)
        loss.backward()
        optimizer.step()
    print(f"epoch={epoch} last_loss={loss.item():.4f}")
