"""GRU that counts the ones in strings of bits; all strings are kept as lists."""

import gc
import random

import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)
samples = [[random.randint(0, 1) for _ in range(12)] for _ in range(8000)]
samples = [{"bits": [[bit] for bit in bits], "ones": sum(bits)} for bits in samples]


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(1, 32, batch_first=True)
        self.out = nn.Linear(32, 1)

    def forward(self, bits):
        states, _ = self.rnn(bits)
        return self.out(states[:, -1])


model = Counter()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for step in range(15):
    chosen = random.sample(samples, 64)
    bits = torch.tensor([sample["bits"] for sample in chosen]).float()
    target = torch.tensor([[sample["ones"] / 6 - 1] for sample in chosen])
    loss = nn.functional.mse_loss(model(bits), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    gc.collect()
    if step % 5 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
