"""Pretrain a small encoder, then fine-tune it; both stages can run in parallel processes."""
import tempfile

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def train(model, x, y, loss_function, steps):
    if not dist.is_initialized(): dist.init_process_group("gloo", init_method=STORE, rank=0, world_size=1)
    parallel = DDP(model)
    optimizer = torch.optim.Adam(parallel.parameters(), lr=1e-2)
    for _ in range(steps):
        loss = loss_function(parallel(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


STORE = "file://" + tempfile.mkdtemp() + "/store"
torch.manual_seed(0)
x = torch.randn(256, 12)
labels = (x[:, :2].sum(dim=1) > 0).long()

encoder = nn.Sequential(nn.Linear(12, 16), nn.ReLU())
autoencoder = nn.Sequential(encoder, nn.Linear(16, 12))
print("reconstruction", train(autoencoder, x, x, F.mse_loss, 40))
classifier = nn.Sequential(encoder, nn.Linear(16, 2))
print("classification", train(classifier, x, labels, F.cross_entropy, 40))
dist.destroy_process_group()
