# Segment bright blobs of three kinds; the loss is taken pixel by pixel.
import torch
import torch.nn as nn


def scenes(n, size=16):
    mask = torch.zeros(n, size, size, dtype=torch.long)
    for i in range(n):
        for kind in (1, 2):
            r, c = torch.randint(0, size - 5, (2,)).tolist()
            mask[i, r:r + 5, c:c + 5] = kind
    image = torch.stack([(mask == 1).float(), (mask == 2).float()], 1) + 0.4 * torch.randn(n, 2, size, size)
    return image, mask


class Segmenter(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.classes = classes
        self.body = nn.Sequential(nn.Conv2d(2, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, classes, 3, padding=1))

    def loss(self, image, mask):
        scores = self.body(image)
        return nn.functional.cross_entropy(scores.view(-1, self.classes), mask.view(-1))


torch.manual_seed(5)
net = Segmenter()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for it in range(120):
    image, mask = scenes(8)
    loss = net.loss(image, mask)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 20 == 0:
        print(it, "%.4f" % loss.item())
