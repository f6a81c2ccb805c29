"""Transformer encoder classifier: does the first token appear again later?"""
import argparse

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, vocab=16, dim=32, heads=4, layers=2, length=6):
        super().__init__()
        self.token = nn.Embedding(vocab, dim)
        self.position = nn.Parameter(torch.randn(1, length, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, heads, 64, dropout=0.0, activation="gelu",
                                           batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, 2)

    def forward(self, ids):
        h = self.encoder(self.token(ids) + self.position)
        return self.head(self.norm(h[:, 0]))


def sample(batch):
    ids = torch.randint(1, 16, (batch, 6))
    repeat = torch.rand(batch) < 0.5
    ids[repeat, -1] = ids[repeat, 0]
    return ids, (ids[:, 1:] == ids[:, :1]).any(dim=1).long()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=140)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(1, args.steps + 1):
        ids, y = sample(48)
        loss = nn.functional.cross_entropy(model(ids), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 20 == 0 or step == 1:
            print(f"step {step:4d} | loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
