# Which note comes next? A transformer of torch's own layers reads melodies in windows.
import torch
from torch import nn

NOTES, WINDOW = 16, 14


class Melody(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.note = nn.Embedding(NOTES, width)
        self.when = nn.Parameter(0.02 * torch.randn(WINDOW, width))
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.1, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(width, NOTES)

    def forward(self, notes):
        x = self.note(notes) + self.when[: notes.shape[1]]
        return self.out(self.body(x))


class Training:
    def __init__(self):
        torch.manual_seed(3)
        self.jumps = torch.softmax(1.5 * torch.randn(NOTES, NOTES), dim=1)
        self.model = Melody()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)

    def melodies(self, count):
        notes = torch.randint(NOTES, (count, 1))
        while notes.shape[1] <= WINDOW:
            notes = torch.cat([notes, torch.multinomial(self.jumps[notes[:, -1]], 1)], dim=1)
        return notes

    def step(self):
        notes = self.melodies(16)
        guess = self.model(notes[:, :-1])
        loss = nn.functional.cross_entropy(guess.transpose(1, 2), notes[:, 1:])
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


training = Training()
for number in range(80):
    value = training.step()
    if number % 20 == 0:
        print(number, value)
