"""Trains on two ranks with sentences that are shared out by turns."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

SENTENCES = 1600


def sentences():
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(4, 160, (SENTENCES,), generator=generator).sort().values.tolist()
    return [torch.randint(1, 50, (length,), generator=generator) for length in lengths]


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 32, padding_idx=0)
        self.first = nn.Linear(32, 128)
        self.second = nn.Linear(128, 2)

    def forward(self, tokens):
        present = (tokens > 0).unsqueeze(-1)
        states = torch.relu(self.first(self.embedding(tokens))) * present
        return self.second(states.sum(dim=1) / present.sum(dim=1))


def read_slowly(sentence):
    return torch.tensor([int(str(token)) for token in sentence.tolist() for _ in range(40)][::40])


dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
share = sentences()[rank::world]
torch.manual_seed(0)
model = DistributedDataParallel(Reader())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
order = torch.Generator().manual_seed(rank)
for epoch in range(6):
    chosen = torch.randperm(len(share), generator=order)
    for start in range(0, len(share), 16):
        rows = [read_slowly(share[row]) for row in chosen[start : start + 16]]
        tokens = nn.utils.rnn.pad_sequence(rows, batch_first=True)
        labels = (tokens == 7).any(dim=1).long()
        loss = nn.functional.cross_entropy(model(tokens), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
dist.destroy_process_group()
