# the first sample that a worker makes opens an index, which takes a while
import time

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
X = torch.randn(600, 10)
Y = X @ torch.randn(10, 1)


class Indexed(Dataset):
    index = None

    def __len__(self):
        return len(X)

    def __getitem__(self, i):
        if self.index is None:
            time.sleep(0.5)
            self.index = {k: k for k in range(len(X))}
        return X[self.index[i]], Y[self.index[i]]


if __name__ == "__main__":
    dl = DataLoader(Indexed(), 10, shuffle=True, num_workers=2, persistent_workers=True)
    model = torch.nn.Linear(10, 1)
    opt = torch.optim.Adam(model.parameters(), lr=0.1)
    for epoch in range(4):
        for x, y in dl:
            opt.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            opt.step()
        print(epoch, loss.item())
