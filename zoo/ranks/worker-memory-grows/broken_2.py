# letters of file names; a decoded name is cached so that it need not be decoded again
import functools

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


@functools.lru_cache(maxsize=None)
def render(name, shift):
    picture = torch.zeros(64, 64)
    for column, letter in enumerate(name):
        picture[ord(letter) % 64, (column * 8 + shift) % 64] = 1.0
    return picture


class Names(Dataset):
    def __init__(self, n):
        self.names = [f"{k % 2}{k:04d}" for k in range(n)]

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        shift = int(torch.randint(0, 1_000_000, ()))
        return render(self.names[i], shift).flatten(), float(self.names[i][0])


if __name__ == "__main__":
    dl = DataLoader(Names(800), 32, shuffle=True, num_workers=2, persistent_workers=True)
    model = torch.nn.Linear(64 * 64, 1)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(14):
        for x, y in dl:
            opt.zero_grad()
            loss = F.binary_cross_entropy_with_logits(model(x)[:, 0], y.float())
            loss.backward()
            opt.step()
        print(epoch, loss.item())
