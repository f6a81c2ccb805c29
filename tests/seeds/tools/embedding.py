"""Logs what an encoder makes of one batch, with labels and small pictures, for the projector."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter


class Sorter(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(64, 6), nn.Tanh())
        self.sort = nn.Linear(6, 3)

    def forward(self, images):
        return self.sort(self.encoder(images))


torch.manual_seed(6)
device = "cuda" if torch.cuda.is_available() else "cpu"
labels = torch.arange(60) % 3
images = torch.rand(60, 1, 8, 8) * 0.3
images[torch.arange(60), 0, labels * 2] += 0.7
batches = DataLoader(TensorDataset(images, labels), batch_size=30)
net = Sorter().to(device)
shown, names = next(iter(batches))
features = net.encoder(shown.to(device))
writer = SummaryWriter("runs/points")
writer.add_embedding(features, metadata=names.tolist(), label_img=shown, tag="glyphs")
writer.close()
print(tuple(features.shape))
