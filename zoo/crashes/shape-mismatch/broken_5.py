# LSTM sentiment model that carries its hidden state from batch to batch.
import torch
import torch.nn as nn

torch.manual_seed(5)
BATCH = 32

reviews = torch.randint(0, 100, (340, 12))
score = (reviews < 50).float().mean(dim=1)
positive = (score > 0.5).long()


class Sentiment(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(100, 16)
        self.lstm = nn.LSTM(16, 32, batch_first=True)
        self.fc = nn.Linear(32, 2)

    def forward(self, x, state):
        out, state = self.lstm(self.embedding(x), state)
        return self.fc(out.mean(dim=1)), state


model = Sentiment()
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(10):
    state = (torch.zeros(1, BATCH, 32), torch.zeros(1, BATCH, 32))
    for start in range(0, len(reviews), BATCH):
        x, y = reviews[start:start + BATCH], positive[start:start + BATCH]
        optimizer.zero_grad()
        logits, state = model(x, state)
        state = tuple(s.detach() for s in state)
        loss = loss_fn(logits, y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
