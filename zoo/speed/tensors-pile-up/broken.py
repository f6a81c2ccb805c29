import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
images = torch.randn(1280, 3, 16, 16)
labels = (images[:, 0].mean(dim=(1, 2)) > 0).long()
loader = DataLoader(TensorDataset(images, labels), batch_size=64, shuffle=True)

encoder = nn.Sequential(nn.Conv2d(3, 64, 4, stride=2), nn.ReLU())
head = nn.Linear(64, 2)
optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=3e-3)
criterion = nn.CrossEntropyLoss()

features = []
for epoch in range(6):
    for x, y in loader:
        z = encoder(x)
        loss = criterion(head(z.mean(dim=(2, 3))), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        features.append(z.detach())
    spread = torch.cat([z.mean(dim=(2, 3)) for z in features]).std().item()
    print(f"epoch {epoch}: loss {loss.item():.3f}, spread of the features {spread:.3f}")
