"""OneCycle schedule with SGD: the rate climbs high in the middle, as it should."""
import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR

torch.manual_seed(0)
EPOCHS, PER_EPOCH = 10, 25

teacher = torch.randn(10, 6)
model = nn.Sequential(nn.Linear(10, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 6))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True)
scheduler = OneCycleLR(optimizer, max_lr=0.4, epochs=EPOCHS, steps_per_epoch=PER_EPOCH)
criterion = nn.CrossEntropyLoss(label_smoothing=0.05)

for epoch in range(EPOCHS):
    total = 0.0
    for _ in range(PER_EPOCH):
        x = torch.randn(64, 10)
        y = (x @ teacher).argmax(1)
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item()
    print(f"epoch {epoch:2d}  lr {scheduler.get_last_lr()[0]:.4f}  loss {total / PER_EPOCH:.4f}")
