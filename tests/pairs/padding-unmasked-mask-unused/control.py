import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(0)


def rows(n, seed):
    g, out = torch.Generator().manual_seed(seed), []
    for _ in range(n):
        k = int(torch.randint(4, 9, (1,), generator=g))
        words, y = torch.randint(10, 60, (k,), generator=g), int(torch.randint(0, 2, (1,), generator=g))
        words[int(torch.randint(0, k, (1,), generator=g))] = 2 + y * 4 + int(torch.randint(0, 4, (1,), generator=g))
        out.append((words, y))
    return out


def collate(batch):
    ids = torch.zeros(len(batch), 80, dtype=torch.long)
    for i, (words, _) in enumerate(batch):
        ids[i, : len(words)] = words
    return ids, (ids != 0).long(), torch.tensor([y for _, y in batch])


class Reader(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.table, self.out = nn.Embedding(60, d), nn.Linear(d, 2)
        self.block = nn.TransformerEncoderLayer(d, 2, 48, dropout=0.0, batch_first=True)

    def forward(self, ids, mask):
        h, w = self.block(self.table(ids), src_key_padding_mask=mask == 0), mask.unsqueeze(-1).float()
        return self.out((h * w).sum(1) / w.sum(1))


net = Reader()
opt = torch.optim.AdamW(net.parameters(), 1e-3)
for epoch in range(2):
    for ids, mask, y in DataLoader(rows(480, 1), 32, shuffle=True, collate_fn=collate):
        loss = nn.functional.cross_entropy(net(ids=ids, mask=mask), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
