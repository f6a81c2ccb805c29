"""A small classifier of images that come as arrays, as an image library reads them."""
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.head = nn.Linear(8, 4)

    def forward(self, images):
        assert images.shape[1:] == (3, 16, 16), "unexpected input"
        features = torch.relu(self.conv(images))
        return self.head(features.mean(dim=(2, 3)))


def batch(size):
    kinds = rng.integers(0, 4, size)
    pixels = rng.normal(0.0, 0.2, (size, 16, 16, 3)).astype("float32")
    pixels[np.arange(size), :, :, kinds % 3] += 0.5 + 0.5 * (kinds // 3)[:, None, None]
    return torch.from_numpy(pixels), torch.from_numpy(kinds)


model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(60):
    images, kinds = batch(32)
    loss = nn.functional.cross_entropy(model(images), kinds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item())
