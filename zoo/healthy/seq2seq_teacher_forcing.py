"""Reverse short strings with an encoder-decoder transformer; padding is ignored, labels are smoothed."""
import torch
from torch import nn

PAD, BOS, EOS, SYMBOLS = 0, 1, 2, 16


def pairs(n, longest=9):
    source = torch.full((n, longest + 1), PAD)
    target = torch.full((n, longest + 2), PAD)
    for i in range(n):
        length = int(torch.randint(3, longest + 1, (1,)))
        word = torch.randint(3, SYMBOLS, (length,))
        source[i, :length + 1] = torch.cat([word, torch.tensor([EOS])])
        target[i, :length + 2] = torch.cat([torch.tensor([BOS]), word.flip(0), torch.tensor([EOS])])
    return source, target


class Reverser(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(SYMBOLS, width, padding_idx=PAD)
        self.place = nn.Embedding(16, width)
        self.transformer = nn.Transformer(
            width, 4, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=64, dropout=0.0, batch_first=True
        )
        self.head = nn.Linear(width, SYMBOLS)

    def forward(self, source, given):
        mask = nn.Transformer.generate_square_subsequent_mask(given.shape[1])
        a = self.embed(source) + self.place(torch.arange(source.shape[1]))
        b = self.embed(given) + self.place(torch.arange(given.shape[1]))
        return self.head(self.transformer(a, b, tgt_mask=mask, tgt_is_causal=True))


torch.manual_seed(0)
model = Reverser()
criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.1)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(70):
    source, target = pairs(20)
    scores = model(source, target[:, :-1])
    loss = criterion(scores.reshape(-1, SYMBOLS), target[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 14 == 0:
        print(f"step {step:3d} loss {loss.item():.3f}")
