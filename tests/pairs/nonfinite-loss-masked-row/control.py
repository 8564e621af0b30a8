import torch
from torch import nn
torch.manual_seed(0)
emb, att, head = nn.Embedding(30, 8), nn.Linear(8, 1), nn.Linear(8, 3)
opt = torch.optim.Adam([*emb.parameters(), *att.parameters(), *head.parameters()], 1e-2)
ids = torch.randint(1, 30, (64, 7)); ids[:, 5:] = 0; y = torch.randint(0, 3, (64,))
def pool(t):
    e = emb(t)
    s = att(e).squeeze(-1).masked_fill(t == 0, float("-inf"))
    return (torch.softmax(s, 1).unsqueeze(-1) * e).sum(1)
for ep in range(2):
    for r in torch.randperm(64).split(16):
        loss = nn.functional.cross_entropy(head(pool(ids[r])), y[r])
        opt.zero_grad(); loss.backward(); opt.step()
print(loss)
