# Tell majority votes from bit strings.
import torch

torch.manual_seed(4)

model = torch.nn.Sequential(
    torch.nn.Linear(15, 32),
    torch.nn.ReLU(),
    torch.nn.Linear(32, 2),
)
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def batch(n=64):
    bits = torch.randint(0, 2, (n, 15))
    return bits, (bits.sum(dim=1) > 7).long()


for i in range(200):
    bits, majority = batch()
    loss = torch.nn.functional.cross_entropy(model(bits.float()), majority)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 40 == 0:
        print(i, loss.item())
