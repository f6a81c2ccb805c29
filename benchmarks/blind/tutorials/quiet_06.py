"""Character level LSTM; hidden state is carried over and cut between the chunks."""
import torch
from torch import nn

TEXT = ("the quick brown fox jumps over the lazy dog. a small bird sings in the tall green tree. "
        "we walk along the river and count the boats. rain falls softly on the old stone bridge. ") * 24


class CharLSTM(nn.Module):
    def __init__(self, vocab, dim=24, hidden=64):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, ids, state=None):
        h, state = self.rnn(self.emb(ids), state)
        return self.out(h), state


def chunks(ids, batch, length):
    usable = (len(ids) - 1) // batch * batch
    src = ids[:usable].view(batch, -1)
    dst = ids[1:usable + 1].view(batch, -1)
    for start in range(0, src.size(1), length):
        yield src[:, start:start + length], dst[:, start:start + length]


@torch.no_grad()
def generate(model, stoi, itos, prompt, n=40):
    model.eval()
    ids = torch.tensor([[stoi[c] for c in prompt]])
    logits, state = model(ids)
    text = prompt
    for _ in range(n):
        nxt = torch.multinomial(torch.softmax(logits[:, -1] / 0.7, -1), 1)
        text += itos[nxt.item()]
        logits, state = model(nxt, state)
    return text


def main():
    torch.set_num_threads(1)
    torch.manual_seed(5)
    itos = sorted(set(TEXT))
    stoi = {c: i for i, c in enumerate(itos)}
    ids = torch.tensor([stoi[c] for c in TEXT])
    model = CharLSTM(len(itos))
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(10):
        model.train()
        state, total, count = None, 0.0, 0
        for src, dst in chunks(ids, batch=8, length=32):
            if state is not None:
                state = tuple(s.detach() for s in state)
            logits, state = model(src, state)
            loss = loss_fn(logits.reshape(-1, len(itos)), dst.reshape(-1))
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            total, count = total + loss.item(), count + 1
        print(f"epoch {epoch} nats per character {total / count:.3f}")
    print(generate(model, stoi, itos, "the "))


if __name__ == "__main__":
    main()
