"""Text classification on two processes: each reads its part of the reviews and trains with DDP."""

import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

REVIEWS = [
    ("good fun great cast", 1), ("bad plot and bad cast", 0), ("great story good pace", 1), ("dull and long", 0),
    ("fun from start to end", 1), ("long dull story", 0), ("great fun great pace", 1), ("bad start bad end", 0),
]  # fmt: skip


class Classifier(nn.Module):
    def __init__(self, words):
        super().__init__()
        self.embed = nn.EmbeddingBag(words, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, tokens):
        return self.head(self.embed(tokens))


def work(rank, store, processes):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=processes)
    torch.manual_seed(0)
    mine = REVIEWS[rank::processes]
    vocabulary = sorted({word for text, _ in mine for word in text.split()})
    index = {word: number for number, word in enumerate(vocabulary)}

    model = DDP(Classifier(len(vocabulary)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(20):
        for text, label in mine:
            tokens = torch.tensor([[index[word] for word in text.split()]])
            loss = F.cross_entropy(model(tokens), torch.tensor([label]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    if rank == 0:
        print(f"loss {loss.item():.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    store = tempfile.mkdtemp() + "/store"
    mp.spawn(work, args=(store, 2), nprocs=2)
