"""The loader's worker processes: what they compute, how they fail, how they end, and what they leave behind."""

import contextlib
import gc
import mmap
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import weft
from weft import nn
from weft.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info
from weft.utils.data._utils import shared_memory, worker_pool
from weft.utils.data._utils.shared_memory import SegmentReader, SegmentWriter, make_folders, remove_folders

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers made by fork")

SECONDS = 60  # far more than any test here needs: only a hang takes it


@pytest.fixture(autouse=True)
def nothing_is_left_behind_and_nothing_hangs():
    """After each test no worker, no folder of segments; and a test that hangs fails."""

    def give_up(*_):
        raise TimeoutError(f"the test has hung for {SECONDS} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS)
    try:
        yield
        gc.collect()
        assert multiprocessing.active_children() == []
        assert segment_folders() == []
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def segment_folders():
    """The folders of this process's loaders that still exist."""
    return [folder for folders in _made for folder in folders if os.path.exists(folder)]


_made = []


@pytest.fixture(autouse=True)
def _remember_folders(monkeypatch):
    _made.clear()
    monkeypatch.setattr(worker_pool, "make_folders", lambda: _made.append(make_folders()) or _made[-1])


class Items(Dataset):
    """Item i is a tensor full of i; each also tells who made it."""

    def __init__(self, length=8):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return weft.full((3,), index), get_worker_info().id


class Faulty(Items):
    """Does something at index 5."""

    def __init__(self, fault):
        super().__init__()
        self.fault = fault

    def __getitem__(self, index):
        if index == 5:
            self.fault()
        return index


class Count(IterableDataset):
    """0, 1, ... in each worker, as many as it has by its number."""

    def __init__(self, lengths):
        self.lengths = lengths

    def __iter__(self):
        info = get_worker_info()
        return iter(range(100 * info.id, 100 * info.id + self.lengths[info.id]))


class Draws(Dataset):
    """Random numbers of all generators, and the worker's seed."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        drawn = random.getrandbits(16), int(weft.randint(1 << 30, (1,)).item()), int(np.random.randint(1 << 30))
        return get_worker_info().seed, *drawn


# What they compute


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_give_the_same_batches_in_the_same_order(method):
    loader = DataLoader(Items(7), batch_size=2, num_workers=2, multiprocessing_context=method)
    found = [(values.tolist(), workers.tolist()) for values, workers in loader]
    assert [values for values, _ in found] == [[[i] * 3 for i in range(a, min(a + 2, 7))] for a in (0, 2, 4, 6)]
    assert [workers for _, workers in found] == [[0, 0], [1, 1], [0, 0], [1]]


def test_a_shuffled_pass_with_workers_is_the_one_without():
    weft.manual_seed(5)
    loader = DataLoader(TensorDataset(weft.arange(10)), batch_size=3, shuffle=True, num_workers=2)
    assert [batch[0].tolist() for batch in loader] == [[8, 3, 0], [5, 9, 1], [6, 2, 4], [7]]


def test_seeds_and_random_streams_of_workers_are_pytorchs():
    weft.manual_seed(5)
    found = [[column.item() for column in batch] for batch in DataLoader(Draws(), num_workers=2)]
    assert [row[0] for row in found] == [4095051218741643470 + worker for worker in (0, 1, 0, 1)]
    assert found[0][1:] == [63780, 777595540, 1010389604]
    assert found[1][1:] == [48151, 496365935, 346721090]


def test_worker_init_fn_runs_in_each_worker_after_seeding():
    def init(worker_id):
        random.seed(worker_id)

    class Draw(Items):
        def __getitem__(self, index):
            return random.random()

    found = [batch.item() for batch in DataLoader(Draw(2), num_workers=2, worker_init_fn=init)]
    assert found == [random.Random(0).random(), random.Random(1).random()]


def test_worker_info_says_who_a_worker_is():
    class Info(Items):
        def __getitem__(self, index):
            info = get_worker_info()
            return info.id, info.num_workers, info.dataset is self

    assert get_worker_info() is None
    found = [[column.item() for column in batch] for batch in DataLoader(Info(2), num_workers=2)]
    assert found == [[0, 2, True], [1, 2, True]]


def test_an_iterable_dataset_ends_when_all_workers_have_ended():
    loader = DataLoader(Count([5, 1]), batch_size=2, num_workers=2)
    assert [batch.tolist() for batch in loader] == [[0, 1], [100], [2, 3], [4]]


def test_batches_as_they_are_ready_are_all_of_them():
    loader = DataLoader(Items(9), num_workers=2, in_order=False)
    assert sorted(values[0, 0].item() for values, _ in loader) == list(range(9))


def test_a_slow_worker_does_not_hold_up_the_other_when_order_is_free():
    first_may_go = multiprocessing.get_context("fork").Event()

    class Slow(Items):
        def __getitem__(self, index):
            if index == 0:
                first_may_go.wait(SECONDS)
            return index

    found = []
    for batch in DataLoader(Slow(6), num_workers=2, in_order=False, prefetch_factor=2):
        found.append(batch.item())
        if len(found) == 3:
            first_may_go.set()
    assert found[:3] == [1, 3, 4] or 0 not in found[:3]
    assert sorted(found) == list(range(6))


def test_persistent_workers_keep_their_processes_and_seeds_between_passes():
    class Pid(Items):
        def __getitem__(self, index):
            return os.getpid(), get_worker_info().seed

    loader = DataLoader(Pid(4), num_workers=2, persistent_workers=True)
    passes = [[(pid.item(), seed.item()) for pid, seed in loader] for _ in range(3)]
    assert passes[0] == passes[1] == passes[2]
    assert os.getpid() not in {pid for pid, _ in passes[0]}


def test_persistent_workers_are_ended_by_hand_and_started_again():
    loader = DataLoader(Items(4), num_workers=1, persistent_workers=True)
    first = [values.tolist() for values, _ in loader]
    workers = loader._iterator
    workers._shutdown_workers()
    workers._shutdown_workers()  # nothing is left to end
    assert workers.is_closed
    assert [values.tolist() for values, _ in loader] == first
    assert loader._iterator is not workers


def test_a_pass_that_was_left_does_not_disturb_the_next_of_persistent_workers():
    loader = DataLoader(Items(8), num_workers=2, persistent_workers=True)
    next(iter(loader))
    assert [values[0, 0].item() for values, _ in loader] == list(range(8))


def test_a_persistent_iterable_dataset_begins_again():
    loader = DataLoader(Count([2, 1]), num_workers=2, persistent_workers=True)
    assert [[batch.item() for batch in loader] for _ in range(2)] == [[0, 100, 1]] * 2


def test_two_passes_at_once_have_workers_of_their_own():
    loader = DataLoader(Items(3), num_workers=1)
    pairs = [(a[0][0, 0].item(), b[0][0, 0].item()) for a, b in zip(loader, loader)]
    assert pairs == [(0, 0), (1, 1), (2, 2)]


def test_indices_larger_than_a_pipe_do_not_block():
    loader = DataLoader(Items(40000), batch_size=20000, num_workers=1, prefetch_factor=4, collate_fn=len)
    assert list(loader) == [20000, 20000]


def test_many_tasks_ahead_with_large_answers_do_not_block():
    class Text(Items):
        def __getitem__(self, index):
            return "x" * 3000

    indices = [[i % 8] * 400 for i in range(120)]
    loader = DataLoader(Text(), batch_sampler=indices, num_workers=1, prefetch_factor=120, collate_fn="".join)
    assert [len(text) for text in loader] == [3000 * 400] * 120


# Shared memory


def test_a_batch_lies_in_memory_that_the_worker_has_written():
    (batch,) = DataLoader(TensorDataset(weft.arange(1000)), batch_size=1000, num_workers=1)
    base = batch[0].numpy()
    while isinstance(base, (np.ndarray, memoryview)):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    assert isinstance(base, mmap.mmap)


def test_a_batch_can_be_written_and_outlives_its_loader():
    (batch,) = DataLoader(TensorDataset(weft.arange(1000)), batch_size=1000, num_workers=1)
    gc.collect()
    batch[0].add_(1)
    assert batch[0].tolist() == list(range(1, 1001))


def test_a_batch_that_is_kept_is_not_written_over():
    kept = list(DataLoader(TensorDataset(weft.arange(3000)), batch_size=10, num_workers=2))
    assert [batch[0].tolist() for batch in kept] == [list(range(a, a + 10)) for a in range(0, 3000, 10)]


def test_keeping_many_batches_keeps_few_files_open():
    kept = list(DataLoader(TensorDataset(weft.arange(3000)), batch_size=10, num_workers=1, persistent_workers=True))
    assert len(kept) == 300
    assert len(os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd") else []) < 150


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "complex64"], ids=lambda name: name
)
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)], ids=str)
def test_every_dtype_and_shape_arrives_as_it_was(dtype, shape):
    value = weft.ones(shape, dtype=getattr(weft, dtype))
    (found,) = DataLoader([value], batch_size=None, num_workers=1)
    assert found.dtype is value.dtype
    assert tuple(found.shape) == shape
    assert found.tolist() == value.tolist()


def test_structures_of_any_objects_arrive_as_they_were():
    sample = {"views": [np.arange(6).reshape(2, 3).T, np.zeros(2000)], "text": "é" * 9000, "none": None}
    (found,) = DataLoader([sample], batch_size=None, num_workers=1, collate_fn=lambda value: value)
    assert found["views"][0].tolist() == sample["views"][0].tolist()
    assert (found["text"], found["none"]) == (sample["text"], None)


class Named(weft.Tensor):
    pass


def test_batches_do_not_become_shared_tensors_where_those_are_in_use():
    import weft.multiprocessing

    assert weft.multiprocessing.get_sharing_strategy()
    samples = [nn.Parameter(weft.ones(3)), weft.ones(2000).as_subclass(Named)]
    found = list(DataLoader(samples, batch_size=None, sampler=[weft.tensor(0), weft.tensor(1)], num_workers=1))
    assert [type(each) for each in found] == [nn.Parameter, Named]
    assert [each.sum().item() for each in found] == [3, 2000]
    assert not samples[0].is_shared()


@pytest.fixture
def segments():
    folders = make_folders()
    yield SegmentWriter(folders, "test"), SegmentReader(), folders
    remove_folders(folders)


def test_a_segment_goes_back_to_its_worker_when_its_last_array_is_gone(segments):
    writer, reader, _ = segments
    first = reader.unpack(writer.pack(weft.zeros(5000)))
    view = first[10:]
    del first
    assert reader.released == []
    del view
    (path,) = reader.released
    writer.take_back([path])
    assert writer.pack(weft.zeros(5000))[0] == path


def test_segments_that_are_too_small_are_given_up_and_closed(segments):
    writer, reader, _ = segments
    for size in (5000, 50000, 500000):
        assert reader.unpack(writer.pack(weft.ones(size))).sum().item() == size
        writer.take_back(reader.released)
        reader.released.clear()
    assert len(reader._segments) == 1
    assert len(writer._lent) + len(writer._free) == 1


def test_a_segment_is_unlinked_as_soon_as_it_is_mapped(segments):
    writer, reader, folders = segments
    packed = writer.pack(weft.zeros(5000))
    assert os.path.exists(packed[0])
    value = reader.unpack(packed)
    assert not any(os.listdir(folder) for folder in folders)
    assert value.shape[0] == 5000


def test_small_values_need_no_segment(segments):
    writer, _, _ = segments
    assert isinstance(writer.pack({"loss": 0.5}), bytes)


def test_a_full_memory_file_system_is_left_for_the_disk_and_then_an_error(segments, monkeypatch):
    writer, reader, folders = segments
    reserve = shared_memory._reserve

    def full(path, size, full_folders=tuple(folders[:1])):
        if path.startswith(full_folders):
            raise OSError(28, "No space left on device")
        return reserve(path, size)

    if len(folders) > 1:
        monkeypatch.setattr(shared_memory, "_reserve", full)
        packed = writer.pack(weft.ones(5000))
        assert packed[0].startswith(folders[1])
        assert reader.unpack(packed).sum().item() == 5000
    monkeypatch.setattr(shared_memory, "_reserve", lambda path, size: full(path, size, tuple(folders)))
    with pytest.raises(RuntimeError, match=r"no room for a batch of .* lower batch_size"):
        writer.pack(weft.ones(50000))


# How they fail


class TwoArguments(Exception):
    def __init__(self, first, second):
        super().__init__(first, second)


def fail(error):
    def fault():
        raise error

    return fault


@pytest.mark.parametrize("error", [ValueError("bad sample"), KeyError("no such key"), IndexError("too far")], ids=repr)
def test_an_exception_keeps_its_type_and_shows_the_workers_traceback(error):
    loader = DataLoader(Faulty(fail(error)), num_workers=2)
    with pytest.raises(type(error), match=r"Caught \w+ in DataLoader worker process 1") as caught:
        list(loader)
    text = str(caught.value)
    assert "Original Traceback (most recent call last):\n" in text
    assert "in fault" in text
    assert str(error.args[0]) in text


def test_an_exception_that_cannot_be_made_from_a_message_becomes_a_runtime_error():
    with pytest.raises(RuntimeError, match=r"Caught TwoArguments[\s\S]*TwoArguments: \(1, 2\)"):
        list(DataLoader(Faulty(fail(TwoArguments(1, 2))), num_workers=1))


def test_an_exception_of_a_local_type_becomes_a_runtime_error():
    class Local(Exception):
        pass

    with pytest.raises(RuntimeError, match="Caught Local in DataLoader worker process 0"):
        list(DataLoader(Faulty(fail(Local("x"))), num_workers=1))


def test_the_batches_before_and_after_an_exception_arrive():
    iterator = iter(DataLoader(Faulty(fail(ValueError("x"))), num_workers=2))
    assert [next(iterator).item() for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="x"):
        next(iterator)
    assert [batch.item() for batch in iterator] == [6, 7]


def test_an_exception_in_worker_init_fn_is_raised_at_the_first_batch():
    loader = DataLoader(Items(), num_workers=1, worker_init_fn=lambda worker_id: 1 / 0)
    with pytest.raises(ZeroDivisionError, match="Caught ZeroDivisionError in DataLoader worker process 0"):
        list(loader)


def test_an_exception_while_beginning_an_iterable_dataset_is_raised():
    class Broken(IterableDataset):
        def __iter__(self):
            raise ValueError("cannot begin")

    with pytest.raises(ValueError, match="cannot begin"):
        list(DataLoader(Broken(), num_workers=1))


def test_a_batch_that_cannot_be_pickled_is_an_error_and_not_a_hang():
    loader = DataLoader(Items(2), num_workers=1, collate_fn=lambda batch: lambda: batch)
    with pytest.raises(Exception, match=r"Can't (pickle|get) local object"):
        list(loader)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_killed_worker_is_reported_with_its_signal(method):
    loader = DataLoader(Faulty(kill_this_process), num_workers=2, multiprocessing_context=method)
    with pytest.raises(
        RuntimeError, match=r"worker \(pid\(s\) \d+\) exited unexpectedly: killed by signal SIGKILL.* \(worker 1\)$"
    ):
        list(loader)


def kill_this_process():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(("leave", "code"), [(os._exit, 3), (sys.exit, 4)])
def test_a_worker_that_exits_is_reported_with_its_code(leave, code):
    loader = DataLoader(Faulty(lambda: leave(code)), num_workers=2)
    with pytest.raises(RuntimeError, match=rf"worker \(pid\(s\) \d+\) exited unexpectedly: exit code {code}"):
        list(loader)


def test_after_a_worker_has_died_a_persistent_loader_starts_new_ones():
    class Once(Items):
        def __init__(self, flag):
            super().__init__()
            self.flag = flag

        def __getitem__(self, index):
            if self.flag.value and index == 5:
                kill_this_process()
            return index

    flag = multiprocessing.get_context("fork").Value("i", 1)
    loader = DataLoader(Once(flag), num_workers=2, persistent_workers=True)
    iterator = iter(loader)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(iterator)
    with pytest.raises(RuntimeError, match="workers of this pass have ended"):
        next(iterator)
    flag.value = 0
    assert [batch.item() for batch in loader] == list(range(8))


def test_a_worker_that_takes_too_long_is_reported():
    loader = DataLoader(Faulty(lambda: threading.Event().wait(2)), num_workers=1, timeout=0.2)
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.2 seconds"):
        list(loader)


def test_a_dataset_that_cannot_be_pickled_is_an_error_where_workers_are_spawned():
    loader = DataLoader(Faulty(lambda: None), num_workers=1, multiprocessing_context="spawn")
    with pytest.raises(Exception, match=r"Can't (pickle|get) local object"):
        iter(loader)


# How they end


def test_leaving_a_pass_early_ends_its_workers():
    for _ in DataLoader(Items(100), num_workers=2):
        break
    gc.collect()
    assert multiprocessing.active_children() == []


def test_forgetting_an_iterator_ends_its_workers_without_the_collector():
    gc.disable()
    try:
        iterator = iter(DataLoader(Items(100), num_workers=2))
        next(iterator)
        pids = iterator._pool.pids
        del iterator
        for pid in pids:
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)
    finally:
        gc.enable()


def test_forgetting_a_loader_ends_persistent_workers_without_the_collector():
    gc.disable()
    try:
        loader = DataLoader(Items(4), num_workers=2, persistent_workers=True)
        list(loader)
        assert len(multiprocessing.active_children()) == 2
        del loader
        assert multiprocessing.active_children() == []
    finally:
        gc.enable()


def test_a_worker_that_does_not_listen_is_terminated(monkeypatch):
    monkeypatch.setattr(worker_pool, "_stop_seconds", 0.1)
    iterator = iter(DataLoader(Faulty(lambda: threading.Event().wait(SECONDS)), num_workers=1, batch_size=5))
    next(iterator)
    del iterator
    assert multiprocessing.active_children() == []


def test_an_exception_in_the_consumer_ends_the_workers():
    with contextlib.suppress(KeyboardInterrupt):
        for _ in DataLoader(Items(100), num_workers=2):
            raise KeyboardInterrupt
    gc.collect()
    assert multiprocessing.active_children() == []


def test_a_child_that_inherits_an_iterator_does_not_end_its_workers():
    iterator = iter(DataLoader(Items(20), num_workers=1))
    first = next(iterator)
    pid = os.fork()
    if pid == 0:
        del iterator, first
        gc.collect()
        os._exit(0)
    os.waitpid(pid, 0)
    assert len(list(iterator)) == 19


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="counts open files in /proc")
@pytest.mark.parametrize("persistent", [False, True])
def test_many_passes_keep_no_memory_files_or_objects(persistent):
    loader = DataLoader(Items(8), batch_size=2, num_workers=2, shuffle=True, persistent_workers=persistent)

    def left_after(passes):
        for _ in range(passes):
            assert sum(len(values) for values, _ in loader) == 8
        gc.collect()
        return len(os.listdir("/proc/self/fd")), len(multiprocessing.active_children()), len(gc.get_objects())

    files, children, objects = left_after(5)
    files_later, children_later, objects_later = left_after(25)
    assert (files_later, children_later) == (files, children)
    assert objects_later - objects < 40  # the fixture above keeps one for each pass


def run_script(body):
    """Run a program with a dataset of 1000 items."""
    program = textwrap.dedent(
        """
        import os, signal, sys, time
        import weft
        from weft.utils.data import DataLoader, Dataset

        class Items(Dataset):
            def __len__(self):
                return 1000
            def __getitem__(self, index):
                return weft.full((2000,), index)

        """
    ) + textwrap.dedent(body)
    return subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", program],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def has_ended(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    return True


def wait_until(condition):
    for _ in range(SECONDS * 10):
        if condition():
            return True
        threading.Event().wait(0.1)
    return False


def test_a_program_that_ends_in_the_middle_of_a_pass_ends_cleanly():
    done = run_script(
        """
        iterator = iter(DataLoader(Items(), num_workers=2))
        next(iterator)
        print(*iterator._pool.pids)
        """
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert all(has_ended(int(pid)) for pid in done.stdout.split())


def test_an_interrupt_from_the_keyboard_leaves_one_traceback_and_no_process():
    done = run_script(
        """
        signal.signal(signal.SIGINT, signal.default_int_handler)  # programs in the background are begun without it
        iterator = iter(DataLoader(Items(), num_workers=2))
        next(iterator)
        print(*iterator._pool.pids, flush=True)
        for pid in [*iterator._pool.pids, os.getpid()]:
            os.kill(pid, signal.SIGINT)
        while True:
            time.sleep(0.01)
        """
    )
    assert done.stderr.count("KeyboardInterrupt") == 1
    assert done.stderr.count("Traceback") == 1
    assert all(has_ended(int(pid)) for pid in done.stdout.split())


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="looks processes up in /proc")
def test_workers_of_a_killed_program_end_and_remove_their_memory():
    done = run_script(
        """
        from weft.utils.data._utils import worker, worker_pool
        worker._parent_check_seconds = 0.1
        made = []
        make = worker_pool.make_folders
        worker_pool.make_folders = lambda: made.extend(make()) or made
        iterator = iter(DataLoader(Items(), num_workers=2))
        next(iterator)
        print(*iterator._pool.pids)
        print(*made, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    pids, folders = (line.split() for line in done.stdout.splitlines())
    assert wait_until(lambda: all(has_ended(int(pid)) for pid in pids))
    assert wait_until(lambda: not any(os.path.exists(folder) for folder in folders))


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="looks processes up in /proc")
def test_a_signal_to_program_and_workers_leaves_no_memory():
    done = run_script(
        """
        from weft.utils.data._utils import worker_pool
        made = []
        make = worker_pool.make_folders
        worker_pool.make_folders = lambda: made.extend(make()) or made
        os.setpgid(0, 0)
        iterator = iter(DataLoader(Items(), num_workers=2))
        next(iterator)
        print(*made, flush=True)
        os.killpg(0, signal.SIGTERM)
        time.sleep(60)
        """
    )
    assert done.returncode == -signal.SIGTERM
    assert wait_until(lambda: not any(os.path.exists(folder) for folder in done.stdout.split()))


def test_a_program_that_guards_its_main_can_spawn(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        textwrap.dedent(
            """
            import weft
            from weft.utils.data import DataLoader, TensorDataset

            if __name__ == "__main__":
                data = TensorDataset(weft.arange(6))
                loader = DataLoader(data, batch_size=2, num_workers=2, multiprocessing_context="spawn")
                print([batch[0].tolist() for batch in loader])
            """
        )
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (done.stdout, done.stderr) == ("[[0, 1], [2, 3], [4, 5]]\n", "")


class OwnIterator(IterableDataset):
    """Counts to 5; an iterator of itself, which begins anew each time that it is asked for one."""

    def __iter__(self):
        self.n = 0
        return self

    def __next__(self):
        if self.n == 5:
            raise StopIteration
        self.n += 1
        return self.n


@pytest.mark.parametrize("persistent", [False, True])
def test_workers_read_a_dataset_that_is_its_own_iterator_to_its_end(persistent):
    loader = DataLoader(OwnIterator(), batch_size=2, num_workers=2, persistent_workers=persistent)
    for _ in range(2):
        got = [batch.tolist() for batch, _ in zip(loader, range(20))]
        assert got == [[1, 2], [1, 2], [3, 4], [3, 4], [5], [5]]


def test_a_worker_seeds_numpy_with_pytorchs_numbers():
    """tensordict's own workers ask for them."""
    from weft.utils.data._utils.worker import _generate_state

    assert _generate_state(123, 4) == [3133042655, 609701789, 3156826794, 1639029168]
