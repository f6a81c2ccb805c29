"""Topic of sentences of different lengths, packed for an LSTM."""
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence


class TopicModel(nn.Module):
    def __init__(self, words=60, topics=3):
        super().__init__()
        self.embed = nn.Embedding(words, 20, padding_idx=0)
        self.lstm = nn.LSTM(32, 24, batch_first=True)
        self.out = nn.Linear(24, topics)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.embed(x), lengths, batch_first=True, enforce_sorted=False)
        _, (hidden, _) = self.lstm(packed)
        return self.out(hidden[-1])


def sentences(n=32):
    topics = torch.randint(0, 3, (n,))
    lengths = torch.randint(4, 11, (n,))
    x = 1 + 20 * topics[:, None] + torch.randint(0, 19, (n, 10))
    x[torch.arange(10)[None, :] >= lengths[:, None]] = 0
    return x, lengths, topics


torch.manual_seed(20)
model = TopicModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(60):
    x, lengths, topics = sentences()
    loss = nn.functional.cross_entropy(model(x, lengths), topics)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 0:
        print("step", step, "loss", round(loss.item(), 4))
