import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

np.random.seed(14)
torch.manual_seed(14)
S = 16


def draw(n):
    """uint8 RGB images in height x width x channel order, as an image reader returns them."""
    images = np.random.randint(60, 130, (n, S, S, 3)).astype(np.uint8)
    labels = np.random.randint(0, 6, n)
    for img, lab in zip(images, labels):
        r, c = np.random.randint(0, S - 7, 2)
        channel, vertical = lab % 3, lab // 3
        if vertical:
            img[r:r + 7, c + 3, channel] = np.random.randint(150, 190)
        else:
            img[r + 3, c:c + 7, channel] = np.random.randint(150, 190)
    return images, labels


def to_tensor(images):
    x = torch.from_numpy(images).float() / 255.0
    x = x.view(-1, 3, S, S)
    return (x - 0.4) / 0.15


train_images, train_labels = draw(1600)
val_images, val_labels = draw(400)
x_train, y_train = to_tensor(train_images), torch.from_numpy(train_labels)
x_val, y_val = to_tensor(val_images), torch.from_numpy(val_labels)

model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
    nn.Conv2d(16, 24, 3, padding=1, stride=2), nn.BatchNorm2d(24), nn.ReLU(),
    nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(24, 6),
)
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)

for epoch in range(5):
    model.train()
    perm = torch.randperm(len(x_train))
    for chunk in perm.split(50):
        loss = F.cross_entropy(model(x_train[chunk]), y_train[chunk])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        out = model(x_val)
    print(f"epoch {epoch} val loss {F.cross_entropy(out, y_val):.4f} acc {(out.argmax(1) == y_val).float().mean():.3f}")
