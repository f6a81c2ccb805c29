"""Character-level language model on a tiny made-up corpus."""
import argparse
import random

import torch
import torch.nn.functional as F
from torch import nn, optim

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=240)
parser.add_argument("--lr", type=float, default=0.5)
parser.add_argument("--context", type=int, default=4)
args = parser.parse_args()

random.seed(7)
torch.manual_seed(7)
words = ["the", "river", "runs", "under", "old", "bridges", "and", "never", "waits"]
corpus = " ".join(random.choice(words) for _ in range(800))
alphabet = sorted(set(corpus))
encoded = torch.tensor([alphabet.index(c) for c in corpus])

windows = encoded.unfold(0, args.context + 1, 1)
inputs, targets = windows[:, :-1], windows[:, -1]


class CharModel(nn.Module):
    def __init__(self, vocab, context, dim=16, hidden=96):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.fc1 = nn.Linear(dim * context, hidden)
        self.fc2 = nn.Linear(hidden, vocab)

    def forward(self, idx):
        h = self.emb(idx).flatten(1)
        return self.fc2(torch.tanh(self.fc1(h)))


net = CharModel(len(alphabet), args.context)
opt = optim.SGD(net.parameters(), lr=args.lr)

running = None
for it in range(args.steps):
    pick = torch.randint(len(inputs), (64,))
    opt.zero_grad()
    loss = F.cross_entropy(net(inputs[pick]), targets[pick])
    loss.backward()
    opt.step()
    running = loss.item() if running is None else 0.9 * running + 0.1 * loss.item()
    if (it + 1) % 40 == 0:
        print(f"[{it + 1}/{args.steps}] smoothed loss = {running:.3f}")
