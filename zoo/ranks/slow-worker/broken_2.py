# features are read from two storage mirrors, each worker has its own
import time

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, get_worker_info

torch.manual_seed(0)
MIRRORS = ["store-a", "store-b"]
ROUND_TRIP = {"store-a": 0.0, "store-b": 0.05}


class Features(Dataset):
    mirror = MIRRORS[0]

    def __init__(self, n):
        self.x = torch.randn(n, 16)
        self.y = (self.x.sum(1) > 0).long()

    def __len__(self):
        return len(self.y)

    def __getitems__(self, indices):
        time.sleep(ROUND_TRIP[self.mirror])
        return [(self.x[i], self.y[i]) for i in indices]


def connect(worker_id):
    get_worker_info().dataset.mirror = MIRRORS[worker_id]


if __name__ == "__main__":
    train_dl = DataLoader(
        Features(480),
        batch_size=8,
        shuffle=True,
        num_workers=2,
        worker_init_fn=connect,
        persistent_workers=True,
    )
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        for x, y in train_dl:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())
