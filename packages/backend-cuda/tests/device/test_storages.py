"""Storages on the device: what views share, other sizes, and writes over what is read."""

import io

import cupy
import pytest

import weft

VIEWS = {  # each of a tensor of 24 elements, and its offset
    "slice": (lambda x: x[2:5], 2),
    "rows": (lambda x: x.view(4, 6)[1:, ::2], 6),
    "transposed": (lambda x: x.view(4, 6).t()[1:], 1),
    "expanded": (lambda x: x[3:4].expand(5, 1), 3),
    "as_strided": (lambda x: x.as_strided((2, 2), (1, 2), 3), 3),
    "as_strided of a view": (lambda x: x[4:].as_strided((2,), (3,), 5)[1:], 8),
    "as_strided without dimensions": (lambda x: x[4:].as_strided((), (), 5), 5),
    "unfold": (lambda x: x[2:].unfold(0, 3, 2), 2),
    "diagonal": (lambda x: x.view(4, 6).diagonal(1), 1),
    "an element": (lambda x: x[7], 7),
    "split": (lambda x: x.split(6)[2], 12),
    "squeezed": (lambda x: x.view(4, 1, 6)[2].squeeze(), 12),
    "detached": (lambda x: x.detach()[1:], 1),
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64"])
def test_views_share_a_storage_and_know_their_place_in_it(name, dtype):
    view, offset = VIEWS[name]
    x = weft.arange(24, device="cuda").to(getattr(weft, dtype))
    found = view(x)
    assert found.untyped_storage() == x.untyped_storage()
    assert found.untyped_storage().nbytes() == 24 * x.itemsize
    assert found.storage_offset() == offset
    assert found.data_ptr() == x.data_ptr() + offset * x.itemsize
    assert found.as_strided((24,), (1,), 0).cpu().equal(x.cpu())
    found.fill_(9)
    assert x.cpu().as_strided(found.shape, found.stride(), offset).eq(9).all()


def test_parts_of_complex_numbers_share_their_storage():
    x = weft.ones(3, 4, dtype=weft.complex64, device="cuda")
    for part, offset in ((x.real, 0), (x.imag, 1), (weft.view_as_real(x)[1], 8)):
        assert part.untyped_storage() == x.untyped_storage() and part.storage_offset() == offset


@pytest.mark.parametrize("take", [weft.from_dlpack, weft.as_tensor])
def test_another_librarys_array_is_a_storage_from_its_first_to_its_last_element(take):
    array = cupy.arange(24.0).reshape(4, 6)[1:, ::2]
    x = take(array)
    assert x.untyped_storage().nbytes() == 8 * 17 and x.storage_offset() == 0
    assert x[1].storage_offset() == 6 and x.as_strided((2,), (12,), 2)[1:].storage_offset() == 14
    x.as_strided((1,), (1,), 14).zero_()
    assert array[2, 1] == 0
    with pytest.raises(RuntimeError, match="not resizable"):
        x.untyped_storage().resize_(0)


def test_views_come_back_from_files_as_views():
    x = weft.arange(6.0, device="cuda")
    file = io.BytesIO()
    weft.save([x[1:], x[::2]], file)
    file.seek(0)
    first, second = weft.load(file)
    assert first.untyped_storage() == second.untyped_storage() and first.device.type == "cuda"
    first[1] = 7.0
    assert second.tolist() == [0.0, 7.0, 4.0]


@pytest.mark.parametrize("size", [0, 4, 8, 15, 17, 64])
def test_tensors_move_with_a_storage_that_is_resized(size):
    x = weft.arange(4.0, device="cuda")
    v = x[1:]
    storage = x.untyped_storage()
    assert storage.resize_(size) is storage
    assert storage.nbytes() == x.untyped_storage().nbytes() == v.untyped_storage().nbytes() == size
    assert (x.shape, v.storage_offset(), v.stride(), v.is_contiguous()) == ((4,), 1, (1,), True)
    x.untyped_storage().resize_(32)
    x.copy_(weft.tensor([4.0, 5, 6, 7]))
    assert v.tolist() == [5, 6, 7]
    assert x.untyped_storage() is v.untyped_storage()


def test_a_resized_storage_keeps_its_first_bytes():
    x = weft.tensor([1, 2, 3], dtype=weft.uint8, device="cuda")
    assert x.untyped_storage().resize_(2).tolist() == [1, 2]
    assert x.untyped_storage().resize_(5).tolist()[:2] == [1, 2]


def test_what_a_storage_let_go_is_free_and_is_not_read():
    weft.cuda.synchronize()
    before = weft.cuda.memory_allocated()
    x = weft.ones(1 << 18, device="cuda", requires_grad=True)
    x.untyped_storage().resize_(0)
    assert weft.cuda.memory_allocated() == before
    for read in (
        lambda: x + 1,
        lambda: x.sum(),
        x.tolist,
        lambda: x.cpu(),
        lambda: x[0].item(),
        lambda: str(x),
        x.clone,
    ):
        with pytest.raises(RuntimeError, match="has no elements"):
            read()
    x.untyped_storage().resize_(4 << 18)
    with weft.no_grad():
        x.fill_(2.0)
    assert x.sum().item() == 2 << 18


OVERLAPPING = {
    "copy_": lambda x: x[1:].copy_(x[:-1]),
    "add_": lambda x: x[1:].add_(x[:-1]),
    "out": lambda x: weft.add(x[1:], 1, out=x[:-1]),
    "setitem": lambda x: x.__setitem__(slice(1, None), x[:-1]),
    "index_put_": lambda x: x.index_put_((weft.tensor([0, 1], device=x.device),), x[1:3]),
    "unfold": lambda x: x[:3].mul_(x.unfold(0, 3, 2)[1]),
}


@pytest.mark.parametrize("name", OVERLAPPING)
def test_writes_over_what_is_read_are_refused(name):
    with pytest.raises(RuntimeError, match="single memory location"):
        OVERLAPPING[name](weft.arange(6.0, device="cuda"))


def test_writes_beside_what_is_read_are_not():
    x = weft.arange(6.0, device="cuda")
    x[:3].add_(x[3:])
    x[::2].copy_(x[1::2])
    x.mul_(x)
    assert x.tolist() == [25.0, 25.0, 9.0, 9.0, 25.0, 25.0]
