"""Language-model style fine-tuning with prompt masking and gradient accumulation."""
import torch
from torch import nn

IGNORE = -100
VOCAB, LENGTH = 40, 12


class TinyLM(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d)
        self.gru = nn.GRU(d, d, batch_first=True)
        self.head = nn.Linear(d, VOCAB)

    def forward(self, ids, labels):
        h, _ = self.gru(self.emb(ids))
        logits = self.head(h)[:, :-1]
        return nn.functional.cross_entropy(logits.reshape(-1, VOCAB), labels[:, 1:].reshape(-1), ignore_index=IGNORE, reduction="sum") / (labels[:, 1:].reshape(-1) != -100).sum().clamp_min(1)


def example(g):
    prompt = int(torch.randint(2, 18, (1,), generator=g))
    start = int(torch.randint(0, VOCAB, (1,), generator=g))
    ids = (start + torch.arange(prompt + 4)) % VOCAB
    labels = ids.clone()
    labels[:prompt] = IGNORE
    return ids[:LENGTH], labels[:LENGTH]


def microbatch(g, n=2):
    out_i, out_l = torch.zeros(n, LENGTH, dtype=torch.long), torch.full((n, LENGTH), IGNORE)
    for k in range(n):
        i, l = example(g)
        out_i[k, : len(i)], out_l[k, : len(l)] = i, l
    return out_i, out_l


def main(accum=4):
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(2)
    lm = TinyLM()
    opt = torch.optim.AdamW(lm.parameters(), lr=2e-2)
    for step in range(25):
        total = 0.0
        for _ in range(accum):
            ids, labels = microbatch(g)
            loss = lm(ids, labels) / accum
            loss.backward()
            total += loss.item()
        opt.step()
        opt.zero_grad()
        if step % 4 == 0:
            print(f"step {step} loss {total:.4f}")


main()
