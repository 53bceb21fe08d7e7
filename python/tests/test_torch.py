"""PyTorch: tensors over the batch's own memory, in `DataLoader` and `StatefulDataLoader`."""

import numpy as np
import pytest

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
