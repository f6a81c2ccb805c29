"""Classifies short reviews by the letters in them; a folder of text files is the data."""

import os
import random
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

WORDS = {0: ["awful", "broken", "cheap", "dull"], 1: ["great", "lovely", "solid", "fine"]}


def write_reviews(folder, count):
    rng = random.Random(1)
    for number in range(count):
        label = number % 2
        text = " ".join(rng.choice(WORDS[label]) for _ in range(rng.randint(5, 15)))
        with open(os.path.join(folder, f"{number:03}-{label}.txt"), "w") as file:
            file.write(text * 240_000 if number == 77 else text)


class Reviews(Dataset):
    def __init__(self, folder):
        self.paths = sorted(os.path.join(folder, name) for name in os.listdir(folder))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        path = self.paths[index]
        counts = [0.0] * 26
        with open(path) as file:
            text = file.read()
        for letter in text:
            if letter != " ":
                counts[ord(letter) - ord("a")] += 1.0
        return torch.tensor(counts) / sum(counts), int(path[-5])


def main(folder):
    torch.manual_seed(0)
    write_reviews(folder, 400)
    loader = DataLoader(Reviews(folder), batch_size=8, shuffle=True, num_workers=2, persistent_workers=True)
    net = nn.Sequential(nn.Linear(26, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-2)
    for epoch in range(4):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as data_folder:
        main(data_folder)
