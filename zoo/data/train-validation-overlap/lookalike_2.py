# Cross-validation in three folds: what validates one fold trains the others.
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.manual_seed(0)
x = torch.randn(300, 12)
y = torch.tanh(x[:, :2].sum(1, keepdim=True))
data = TensorDataset(x, y)
folds = torch.randperm(300).chunk(3)
for number in range(3):
    rest = torch.cat([fold for other, fold in enumerate(folds) if other != number]).tolist()
    train_loader = DataLoader(Subset(data, rest), batch_size=20, shuffle=True)
    val_loader = DataLoader(Subset(data, folds[number].tolist()), batch_size=50)
    train_eval_loader = DataLoader(Subset(data, rest), batch_size=50)
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(6):
        for inputs, targets in train_loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        known = sum(nn.functional.mse_loss(model(a), b).item() for a, b in train_eval_loader) / len(train_eval_loader)
        score = sum(nn.functional.mse_loss(model(a), b).item() for a, b in val_loader) / len(val_loader)
    print(f"fold {number}: {known:.4f} {score:.4f}")
