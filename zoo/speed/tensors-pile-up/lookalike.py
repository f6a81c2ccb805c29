import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

# All outputs of an epoch are kept for its metrics, and the losses of all steps for a curve.
torch.manual_seed(0)
images = torch.randn(1280, 3, 16, 16)
labels = (images[:, 0].mean(dim=(1, 2)) > 0).long()
loader = DataLoader(TensorDataset(images, labels), batch_size=64, shuffle=True)

encoder = nn.Sequential(nn.Conv2d(3, 64, 4, stride=2), nn.ReLU())
head = nn.Linear(64, 2)
optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=3e-3)
criterion = nn.CrossEntropyLoss()

curve = []
for epoch in range(6):
    maps = []
    for x, y in loader:
        z = encoder(x)
        loss = criterion(head(z.mean(dim=(2, 3))), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        maps.append(z.detach())
        curve.append(loss.detach())
    print(f"epoch {epoch}: loss {torch.stack(curve).mean():.3f}, maps {torch.cat(maps).std():.3f}")
