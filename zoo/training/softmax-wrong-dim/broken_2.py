# Part-of-speech tags from a GRU; the tagger is trained token by token.
import torch
from torch import nn

TAGS = 7
WORDS = 90


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, 24)
        self.rnn = nn.GRU(24, 32, batch_first=True)
        self.project = nn.Linear(32, TAGS)
        self.log_probs = nn.LogSoftmax(dim=1)

    def forward(self, words):
        states, _ = self.rnn(self.embed(words))
        return self.log_probs(self.project(states))


def run():
    torch.manual_seed(11)
    tag_of = torch.randint(0, TAGS, (WORDS,))
    model = Tagger()
    nll = nn.NLLLoss()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(150):
        words = torch.randint(0, WORDS, (16, 11))
        tags = (tag_of[words] + (words.roll(1, 1) % 3 == 0)) % TAGS
        scores = model(words)
        loss = nll(scores.view(-1, TAGS), tags.view(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 30 == 0:
            print("step", step, "loss", round(loss.item(), 3))


run()
