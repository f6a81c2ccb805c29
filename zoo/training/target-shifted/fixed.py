"""Character model on a small made-up text: an LSTM, trained on random windows."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
LETTERS = 20
follow = torch.randint(0, LETTERS, (LETTERS, 3))
text = [0]
for _ in range(4000):
    text.append(int(follow[text[-1], torch.randint(0, 3, (1,))]))
text = torch.tensor(text)


class CharLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(LETTERS, 16)
        self.lstm = nn.LSTM(16, 48, batch_first=True)
        self.head = nn.Linear(48, LETTERS)

    def forward(self, x):
        return self.head(self.lstm(self.embed(x))[0])


def windows(n=32, length=25):
    starts = torch.randint(0, len(text) - length - 1, (n,)).tolist()
    x = torch.stack([text[s:s + length] for s in starts])
    y = torch.stack([text[s + 1:s + length + 1] for s in starts])
    return x, y


model = CharLSTM()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(150):
    x, y = windows()
    loss = F.cross_entropy(model(x).view(-1, LETTERS), y.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step}: {loss.item():.4f}")
