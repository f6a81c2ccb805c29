"""Train on 60 noisy samples for as long as it takes, with a look at held-out data now and then."""
import torch
import torch.nn as nn

torch.manual_seed(0)
labeller = torch.randn(30)


def data(count):
    x = torch.randn(count, 30)
    y = ((x @ labeller + 4 * torch.randn(count)) > 0).long()
    return x, y


train_x, train_y = data(60)
val_x, val_y = data(300)
model = nn.Sequential(nn.Linear(30, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(1, 201):
    model.train()
    optimizer.zero_grad()
    loss = criterion(model(train_x), train_y)
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0:
        model.eval()
        with torch.no_grad():
            val = criterion(model(val_x), val_y)
        print(f"epoch {epoch} train {loss.item():.3f} validation {val.item():.3f}")
