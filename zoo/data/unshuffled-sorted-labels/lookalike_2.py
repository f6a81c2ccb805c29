# A dataset sorted by class: shuffled for training, in order for validation.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
label = torch.arange(600) // 150
x = torch.randn(600, 10) + 2.0 * nn.functional.one_hot(label, 10)
train = TensorDataset(x[::2], label[::2])
val = TensorDataset(x[1::2], label[1::2])
train_loader = DataLoader(train, batch_size=30, shuffle=True)
val_loader = DataLoader(val, batch_size=30)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    model.train()
    for inputs, labels in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(inputs).argmax(1) == labels).sum().item() for inputs, labels in val_loader)
    print(f"{epoch}: {loss.item():.4f} {right / len(val):.2f}")
