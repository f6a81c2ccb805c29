# A reader of sentences whose own code refuses batches that are not in order.
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(30, 8)
        self.gru = nn.GRU(8, 16, batch_first=True)
        self.out = nn.Linear(16, 2)

    def forward(self, tokens, lengths):
        if lengths.tolist() != sorted(lengths.tolist(), reverse=True):
            raise RuntimeError("`lengths` array must be sorted in decreasing order")
        packed = pack_padded_sequence(self.words(tokens), lengths, batch_first=True)
        return self.out(self.gru(packed)[1][-1])


torch.manual_seed(8)
model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(20):
    tokens, lengths = torch.randint(0, 30, (12, 9)), torch.randint(2, 10, (12,))
    lengths = lengths if step == 15 else lengths.sort(descending=True).values
    loss = nn.functional.cross_entropy(model(tokens, lengths), (tokens[:, 0] > 15).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
