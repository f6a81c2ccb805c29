# A tiny causal transformer over sentences of very different lengths.
import torch
import torch.nn.functional as F
from torch import nn

VOCAB, LONGEST, FILL = 40, 24, 39


class TinyGPT(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.token = nn.Embedding(VOCAB, width)
        self.place = nn.Embedding(LONGEST, width)
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(width, VOCAB)

    def forward(self, tokens):
        length = tokens.shape[1]
        x = self.token(tokens) + self.place(torch.arange(length))
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        return self.head(self.blocks(x, mask=mask, is_causal=True))


def sentences(n, follow):
    rows = torch.full((n, LONGEST), FILL)
    for row in rows:
        word = torch.randint(0, VOCAB - 1, (1,))
        for place in range(int(torch.randint(4, LONGEST, (1,)))):
            row[place] = word
            word = follow[word, torch.randint(0, 2, (1,))]
    return rows


def main():
    torch.manual_seed(3)
    follow = torch.randint(0, VOCAB - 1, (VOCAB, 2))
    corpus = sentences(256, follow)
    gpt = TinyGPT()
    optimizer = torch.optim.AdamW(gpt.parameters(), lr=3e-3)
    for step in range(80):
        batch = corpus[torch.randint(0, 256, (32,))]
        logits = gpt(batch[:, :-1])
        loss = F.cross_entropy(logits.transpose(1, 2), batch[:, 1:], ignore_index=FILL)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(step, round(loss.item(), 3))


main()
