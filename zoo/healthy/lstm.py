# Sum of a string of digits: many-to-one LSTM with packed sequences.
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

torch.manual_seed(3)


class DigitSum(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(11, 8, padding_idx=10)
        self.lstm = nn.LSTM(8, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, padded, lengths):
        packed = pack_padded_sequence(self.embed(padded), lengths, batch_first=True, enforce_sorted=False)
        _, (h, _) = self.lstm(packed)
        return self.out(h[-1]).squeeze(-1)


def collate(n):
    sequences = [torch.randint(0, 10, (int(torch.randint(3, 9, ())),)) for _ in range(n)]
    lengths = torch.tensor([len(s) for s in sequences])
    sums = torch.tensor([s.sum().item() / 10.0 for s in sequences])
    return pad_sequence(sequences, batch_first=True, padding_value=10), lengths, sums


model = DigitSum()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
loss_fn = nn.MSELoss()
for step in range(160):
    padded, lengths, sums = collate(24)
    optimizer.zero_grad()
    loss = loss_fn(model(padded, lengths), sums)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if step % 40 == 0:
        print("step", step, "mse", round(loss.item(), 4))
