"""PyTorch: tensors over the batch's own memory, in `DataLoader` and `StatefulDataLoader`."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import python

import gristmill as gm

torch = pytest.importorskip("torch")


def stream():
    return gm.Dataset.from_slices(x=np.arange(40, dtype="f4").reshape(20, 2), y=np.arange(20)).shuffle(gm.Shuffle.full(1)).batch(6)


def ids(batches):
    return [b["y"].tolist() for b in batches]


def test_a_loader_yields_every_epoch():
    loader = torch.utils.data.DataLoader(gm.torch(stream()), batch_size=None)
    assert len(loader) == 4
    for epoch in range(3):
        assert ids(loader) == ids(stream().epoch(epoch))
    x, y = next(iter(gm.torch(stream(), columns=("x", "y"))))
    assert x.shape == (6, 2) and y.dtype == torch.int64


def test_nothing_is_copied():
    from gristmill.adapters.torch import tensor

    batch = next(stream().epoch(0))
    shared = tensor(batch.x)
    shared += 1
    assert shared.data_ptr() == batch.x.ctypes.data and (shared.numpy() == batch.x).all()
    assert torch.from_dlpack(batch.x).data_ptr() == batch.x.ctypes.data
    half = next(iter(gm.torch(stream().cast("x", "float16"))))["x"]
    assert half.dtype == torch.float16


def test_bf16():
    pytest.importorskip("ml_dtypes")
    batch = next(iter(gm.torch(stream().cast("x", "bfloat16"))))
    assert batch["x"].dtype == torch.bfloat16 and batch["x"].float().sum() > 0


def test_a_worker_process_may_do_it_and_several_are_refused():
    loader = torch.utils.data.DataLoader(gm.torch(stream()), batch_size=None, num_workers=1, multiprocessing_context="spawn")
    assert ids(loader) == ids(stream().epoch(0))
    loader = torch.utils.data.DataLoader(gm.torch(stream()), batch_size=None, num_workers=2, multiprocessing_context="spawn")
    with pytest.raises(ValueError, match="num_workers"):
        list(loader)


def test_a_stateful_loader_goes_on():
    stateful = pytest.importorskip("torchdata.stateful_dataloader")
    expected = [ids(stream().epoch(k)) for k in range(3)]
    for stop in range(5):
        loader = stateful.StatefulDataLoader(gm.torch(stream()), batch_size=None)
        assert ids(loader) == expected[0]
        iterator = iter(loader)
        for _ in range(stop):
            next(iterator)
        state = loader.state_dict()
        again = stateful.StatefulDataLoader(gm.torch(stream()), batch_size=None)
        again.load_state_dict(state)
        assert ids(again) == expected[1][stop:]
        assert ids(again) == expected[2]


TRAINING = """
    import json, sys
    import numpy as np
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    import gristmill as gm

    rank, folder = int(sys.argv[1]), sys.argv[2]
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    rows = gm.Dataset.from_slices(x=np.arange(60, dtype="f4").reshape(30, 2), y=np.arange(30)).shuffle(gm.Shuffle.full(seed=1))
    loader = torch.utils.data.DataLoader(gm.torch(rows.distribute(rank, 2, 6)), batch_size=None)
    torch.manual_seed(1)
    model = DistributedDataParallel(torch.nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), 1e-4)
    seen = []
    for _ in range(2):
        seen.append([])
        for batch in loader:
            optimizer.zero_grad()
            model(batch["x"]).square().mean().backward()
            optimizer.step()
            seen[-1].append(batch["y"].tolist())
    print(json.dumps([seen, [p.tolist() for p in model.parameters()]]))
    dist.destroy_process_group()
"""


def test_two_ranks_take_the_same_steps_and_every_row_once(tmp_path):
    with ThreadPoolExecutor(2) as both:
        (first, weights), (second, others) = map(json.loads, both.map(lambda rank: python(TRAINING, rank, tmp_path), range(2)))
    assert weights == others
    for one, other in zip(first, second, strict=True):
        assert [len(batch) for batch in one] == [len(batch) for batch in other] == [3] * 5
        assert sorted(row for batch in one + other for row in batch) == list(range(30))
    assert first[0] != first[1]
