# Scores proteins; a worker turns each sequence into counts of its letters.
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
LETTERS = "ACDEFGHIKL"


def encode(sequence):
    counts = torch.zeros(len(LETTERS))
    for letter in sequence:
        if letter not in LETTERS:
            continue
        counts[LETTERS.index(letter)] += 1
    return counts


class Proteins(Dataset):
    def __init__(self, sequences, scores):
        self.sequences = sequences
        self.scores = scores

    def __len__(self):
        return len(self.sequences)

    def __getitem__(self, index):
        return encode(self.sequences[index]), self.scores[index]


numbers = torch.randint(0, len(LETTERS), (200, 12)).tolist()
sequences = ["".join(LETTERS[number] for number in row) for row in numbers]
scores = torch.tensor([row.count(0) + 0.5 * row.count(3) for row in numbers])
sequences[131] = sequences[131][:-1] + "X"

loader = DataLoader(Proteins(sequences, scores), batch_size=20, num_workers=1)
model = nn.Linear(len(LETTERS), 1)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-2)
for epoch in range(5):
    for counts, score in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(counts).squeeze(1), score)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
