# Mark each letter of a word as vowel, consonant or gap.
import torch
import torch.nn.functional as F
from torch import nn

LETTERS = "abcdefghijklmnopqrstuvwxyz "
KIND = torch.tensor([0 if c in "aeiou" else 2 if c == " " else 1 for c in LETTERS])


class Marker(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(len(LETTERS), 12)
        self.rnn = nn.RNN(12, 20, batch_first=True)
        self.out = nn.Linear(20, 3)

    def forward(self, x):
        states, _ = self.rnn(self.embed(x))
        return F.log_softmax(self.out(states), dim=-1)


torch.manual_seed(15)
model = Marker()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(80):
    letters = torch.randint(0, len(LETTERS), (16, 9))
    tags = KIND[letters]
    log_probabilities = model(letters)
    loss = F.nll_loss(log_probabilities.transpose(1, 2), tags)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print("step", step, "nll", round(loss.item(), 4))
