# Intent detection: bag of embeddings, softmax classifier.
import torch
from torch import nn


class IntentClassifier(nn.Module):
    def __init__(self, vocabulary=120, intents=6):
        super().__init__()
        self.embed = nn.EmbeddingBag(vocabulary, 32)
        self.out = nn.Linear(32, intents)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, words):
        return self.softmax(self.out(self.embed(words)))


def utterances(n, topics):
    intent = torch.randint(0, 6, (n,))
    words = torch.multinomial(topics[intent], 9, replacement=True)
    return words, intent


def main():
    torch.manual_seed(4)
    topics = torch.rand(6, 120) ** 4
    model = IntentClassifier()
    criterion = nn.NLLLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(250):
        words, intent = utterances(64, topics)
        optimizer.zero_grad()
        probabilities = model(words)
        loss = criterion(probabilities, intent)
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"[{step}] {loss.item():.3f}")


if __name__ == "__main__":
    main()
