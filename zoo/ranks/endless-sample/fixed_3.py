"""Trains a small classifier on lines of text that a pattern sorts into two classes."""

import re

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

PATTERN = re.compile(r"[\w\s]+\.$")
lines = [f"line {number} of the text." if number % 2 else f"number {number}" for number in range(256)]
lines[200] = "an identifier such as torch_debugger_versions_of_the_demonstration_scripts, and no end"


class Lines(Dataset):
    def __len__(self):
        return len(lines)

    def __getitem__(self, index):
        codes = torch.tensor([ord(letter) / 128 for letter in lines[index][:16].ljust(16)])
        return codes, torch.tensor(PATTERN.match(lines[index]) is not None).long()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    for codes, label in DataLoader(Lines(), batch_size=16):
        loss = nn.functional.cross_entropy(model(codes), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
