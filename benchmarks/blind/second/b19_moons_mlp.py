import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader, random_split

torch.manual_seed(1)


def build_net(depth, d_in, width, d_out):
    layers = [nn.Linear(d_in, width), nn.Sigmoid()]
    for _ in range(depth - 1):
        layers.append(nn.Linear(width, width))
        layers.append(nn.Sigmoid())
    layers.append(nn.Linear(width, d_out))
    net = nn.Sequential(*layers)
    for m in net:
        if isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)
            nn.init.zeros_(m.bias)
    return net


def two_moons(n):
    t = torch.rand(n) * torch.pi
    lab = torch.randint(0, 2, (n,))
    x = torch.where(lab == 0, t.cos(), 1 - t.cos())
    y = torch.where(lab == 0, t.sin(), 0.5 - t.sin())
    return torch.stack([x, y], 1) + 0.1 * torch.randn(n, 2), lab


ds = TensorDataset(*two_moons(2000))
tr, va = random_split(ds, [1600, 400], generator=torch.Generator().manual_seed(0))
train_loader = DataLoader(tr, batch_size=32, shuffle=True)
val_loader = DataLoader(va, batch_size=400)

net = build_net(depth=9, d_in=2, width=32, d_out=2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(8):
    net.train()
    hist = []
    for xb, yb in train_loader:
        pred = net(xb)
        loss = loss_fn(pred, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hist.append(loss.item())
    net.eval()
    with torch.no_grad():
        for xb, yb in val_loader:
            acc = (net(xb).argmax(1) == yb).float().mean().item()
    print(f"Epoch {epoch + 1}/8 - loss: {sum(hist) / len(hist):.4f} - val_acc: {acc:.4f}")
