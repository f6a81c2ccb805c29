"""A character model trained on one text, batch after batch, with its state carried along."""
import torch
import torch.nn as nn


class CharModel(nn.Module):
    def __init__(self, vocab, width):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, vocab)

    def forward(self, x, state=None):
        out, state = self.lstm(self.embed(x), state)
        return self.head(out), state


torch.manual_seed(0)
text = "the quick brown fox jumps over the lazy dog. " * 80
chars = sorted(set(text))
codes = torch.tensor([chars.index(c) for c in text])
model = CharModel(len(chars), 32)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()

state = None
rows = codes[: 4 * 800].view(4, 800)
for i, start in enumerate(range(0, 780, 20)):
    x, y = rows[:, start : start + 20], rows[:, start + 1 : start + 21]
    logits, state = model(x, state)
    loss = criterion(logits.reshape(-1, len(chars)), y.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 5 == 0:
        print(f"batch {i} loss {loss.item():.3f}")
