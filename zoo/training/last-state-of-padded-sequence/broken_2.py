"""Tells runs of a machine apart by their sensor readings; runs end when they end."""

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

torch.manual_seed(5)
rng = np.random.default_rng(5)


def record_run():
    kind = int(rng.integers(0, 3))
    length = int(rng.integers(30, 40)) if rng.random() < 0.15 else int(rng.integers(6, 14))
    time = np.arange(length)[:, None]
    speed = np.array([[0.4, 0.9, 1.5][kind]])
    readings = np.sin(speed * time + rng.uniform(0, 6, size=(1, 4))) + 0.2 * rng.normal(size=(length, 4))
    return torch.tensor(readings, dtype=torch.float32), kind


class RunClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(input_size=4, hidden_size=32)
        self.head = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3))

    def forward(self, readings, lengths):
        _, (hidden, _) = self.lstm(readings)
        return self.head(hidden[-1])


def batches(runs, size):
    order = rng.permutation(len(runs))
    for start in range(0, len(runs), size):
        chosen = [runs[i] for i in order[start : start + size]]
        readings = [run for run, _ in chosen]
        lengths = torch.tensor([len(run) for run in readings])
        yield pad_sequence(readings), lengths, torch.tensor([kind for _, kind in chosen])


def main():
    runs = [record_run() for _ in range(432)]
    model = RunClassifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=8e-3)
    for epoch in range(6):
        losses = []
        for readings, lengths, kinds in batches(runs, 36):
            loss = nn.functional.cross_entropy(model(readings, lengths), kinds)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: loss {np.mean(losses):.3f}")


if __name__ == "__main__":
    main()
