"""Looks at the first batch of a loader: shapes, range, one picture; and our picture of it."""

import matplotlib.pyplot as plt
import torch
from torch.utils.data import DataLoader, TensorDataset

from torch_debugger import pictures

torch.manual_seed(48)
batches = DataLoader(TensorDataset(torch.rand(32, 3, 8, 8), torch.arange(32) % 4), batch_size=8)
for images, labels in batches:
    print(tuple(images.shape), tuple(labels.shape), images.min() >= 0, images.max() <= 1)
    plt.imshow(images[0].permute(1, 2, 0))
    plt.savefig("by_hand.png")
    break
pictures.show_batch(batches).save("batch.png")
