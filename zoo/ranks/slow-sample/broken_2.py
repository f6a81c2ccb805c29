# log lines -> (bag of words, is there an error), all in the training process
import re

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
VOCABULARY = ["disk", "net", "ok", "fail", "retry", "user"]


def make_log(number):
    words = torch.randint(0, len(VOCABULARY), (12,)).tolist()
    entry = " ".join(f"{VOCABULARY[word]}#{word}" for word in words)
    return entry * (60_000 if number in (61, 140) else 1), float(3 in words)


class Logs(Dataset):
    def __init__(self, n):
        self.logs = [make_log(number) for number in range(n)]

    def __len__(self):
        return len(self.logs)

    def __getitem__(self, i):
        entry, failed = self.logs[i]
        cleaned = re.sub(r"[^a-z]+", " ", entry)
        words = cleaned[:400].split()
        counts = torch.tensor([float(words.count(word)) for word in VOCABULARY])
        return counts, torch.tensor([failed])


def fit(model, dl, epochs):
    opt = torch.optim.Adam(model.parameters(), lr=0.02)
    for epoch in range(epochs):
        total = 0.0
        for counts, failed in dl:
            loss = F.binary_cross_entropy_with_logits(model(counts), failed)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(epoch, total / len(dl))


if __name__ == "__main__":
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    fit(model, DataLoader(Logs(240), batch_size=4, shuffle=True), epochs=3)
