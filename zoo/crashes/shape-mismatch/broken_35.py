# Tell whether a sentence of made-up words is friendly, from sentences of many lengths.
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader


class Reader(nn.Module):
    def __init__(self, words=40, size=16, hidden=24):
        super().__init__()
        self.words = nn.Embedding(words, size, padding_idx=0)
        self.lstm = nn.LSTM(size, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 2)

    def forward(self, tokens, lengths):
        sentence = self.words(tokens)
        packed = pack_padded_sequence(sentence, lengths, enforce_sorted=False)
        _, (last, _) = self.lstm(packed)
        return self.out(last[-1])


def make_sentences(count=256):
    sentences = []
    for _ in range(count):
        friendly = int(torch.rand(()) < 0.5)
        words = torch.randint(1, 20, (int(torch.randint(4, 22, ())),))
        words[torch.rand(len(words)) < 0.6] += 20 * friendly
        sentences.append((words, friendly))
    sentences[0] = (torch.randint(1, 20, (22,)), 0)
    return sentences


def collate(samples):
    words, labels = zip(*samples)
    lengths = torch.tensor([len(sentence) for sentence in words])
    return pad_sequence(words, batch_first=True), lengths, torch.tensor(labels)


torch.manual_seed(5)
loader = DataLoader(make_sentences(), batch_size=16, collate_fn=collate)
model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(3):
    total = 0.0
    for tokens, lengths, labels in loader:
        loss = nn.functional.cross_entropy(model(tokens, lengths), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: {total / len(loader):.4f}")
