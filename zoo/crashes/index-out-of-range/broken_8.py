# Segment bright and dark blobs; the border of each blob is left out of the masks.
import torch
import torch.nn.functional as F
from torch import nn


def make_batch(n=8, size=20):
    images = 0.3 * torch.randn(n, 1, size, size)
    masks = torch.zeros(n, size, size, dtype=torch.long)
    for image, mask in zip(images, masks):
        for kind, level in ((1, 1.5), (2, -1.5)):
            r, c = torch.randint(2, size - 8, (2,)).tolist()
            image[0, r:r + 6, c:c + 6] += level
            mask[r - 1:r + 7, c - 1:c + 7] = 255
            mask[r:r + 6, c:c + 6] = kind
    return images, masks


torch.manual_seed(9)
net = nn.Sequential(
    nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(),
    nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(),
    nn.Conv2d(12, 3, 1),
)
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(60):
    images, masks = make_batch()
    scores = net(images)
    loss = F.cross_entropy(scores, masks)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.3f}")
