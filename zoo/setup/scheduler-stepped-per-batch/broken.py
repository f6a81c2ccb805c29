"""Small convolutional net on made-up images; the learning rate is meant to fall every three epochs."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
labels = torch.randint(0, 4, (768,))
images = 0.5 * torch.randn(768, 1, 12, 12)
for i, label in enumerate(labels.tolist()):
    row, column = 6 * (label // 2), 6 * (label % 2)
    images[i, 0, row : row + 6, column : column + 6] += 0.25
loader = DataLoader(TensorDataset(images, labels), batch_size=32, shuffle=True)

model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 36, 4)
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.3)

for epoch in range(8):
    correct = 0
    for x, y in loader:
        optimizer.zero_grad()
        logits = model(x)
        loss = criterion(logits, y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        correct += (logits.argmax(1) == y).sum().item()
    print(f"epoch {epoch}  loss {loss.item():.3f}  accuracy {correct / 768:.3f}")
