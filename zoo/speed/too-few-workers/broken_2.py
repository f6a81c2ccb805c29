# embeddings are looked up in a remote store, a batch at a time, in the collate function
import time

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

torch.manual_seed(0)
STORE = torch.randn(480, 32)
TARGETS = STORE @ torch.randn(32, 1)


def fetch(ids):
    time.sleep(0.16)
    ids = torch.tensor(ids)
    return {"embedding": STORE[ids], "target": TARGETS[ids]}


def train(model, batches, opt):
    for batch in batches:
        opt.zero_grad()
        loss = F.mse_loss(model(batch["embedding"]), batch["target"])
        loss.backward()
        opt.step()
    return loss.item()


if __name__ == "__main__":
    train_dl = DataLoader(range(480), 20, True, num_workers=2, collate_fn=fetch, persistent_workers=True)
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(2):
        print(epoch, train(model, train_dl, opt))
