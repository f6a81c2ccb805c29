"""Word vectors written by hand: two tables drawn from the normal distribution, and a small mixing matrix."""
import torch
import torch.nn.functional as F

torch.manual_seed(0)
words, size = 60, 16
centre = torch.randn(words, size, requires_grad=True)
around = (0.1 * torch.randn(words, size)).requires_grad_()
mix = (torch.randn(size, size) / size**0.5).requires_grad_()
near = torch.softmax(2 * torch.randn(words, words), dim=1)
optimizer = torch.optim.Adam([centre, around, mix], lr=2e-2)
for step in range(200):
    word = torch.randint(words, (64,))
    other = torch.multinomial(near[word], 1).squeeze(1)
    loss = F.cross_entropy(centre[word] @ mix @ around.T, other)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
