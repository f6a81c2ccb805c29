"""Major or minor? Melodies of different lengths."""
import random

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset


class Notes(Dataset):
    def __init__(self, n=200):
        rng = random.Random(18)
        self.tunes = []
        for _ in range(n):
            major = rng.randrange(2)
            scale = [1, 3, 5, 6, 8, 10, 12] if major else [1, 3, 4, 6, 8, 9, 11]
            self.tunes.append(([rng.choice(scale) for _ in range(rng.randint(8, 14))], major))

    def __len__(self):
        return len(self.tunes)

    def __getitem__(self, index):
        tune, major = self.tunes[index]
        return torch.tensor(tune), major


def pad_notes(samples):
    tunes, labels = zip(*samples)
    return pad_sequence(tunes, batch_first=True), torch.tensor(labels)


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(13, 16, padding_idx=0)
        self.out = nn.Linear(16, 2)

    def forward(self, notes):
        return self.out(self.embed(notes).sum(dim=1))


torch.manual_seed(18)
model = Listener()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(5):
    loader = DataLoader(Notes(), batch_size=16, shuffle=True, collate_fn=pad_notes)
    for notes, major in loader:
        loss = nn.functional.cross_entropy(model(notes), major)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, round(loss.item(), 4))
