"""Tensors in several processes: whose memory is shared, what is refused, how processes fail, what is left behind."""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from multiprocessing import resource_sharer
from multiprocessing.connection import wait

import pytest

import weft
import weft.multiprocessing as mp
from weft._tensor import shared_memory

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes made by fork"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

SECONDS = 60  # far more than any test here needs: only a hang takes it
METHODS = ["fork", "spawn", "forkserver"]


@pytest.fixture(autouse=True)
def nothing_hangs():
    def give_up(*_):
        raise TimeoutError(f"the test has hung for {SECONDS} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS)
    yield
    resource_sharer.stop()  # its thread: forks of later tests would warn of it
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(params=sorted(mp.get_all_sharing_strategies()))
def strategy(request):
    before = mp.get_sharing_strategy()
    mp.set_sharing_strategy(request.param)
    yield request.param
    mp.set_sharing_strategy(before)


@pytest.fixture
def named_segments(monkeypatch):
    """A function that lists the files of segments, in a folder where no other process has any."""
    memory = shared_memory._memory_folder
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        monkeypatch.setattr(shared_memory, "_memory_folder", folder)
        yield lambda: os.listdir(folder)


# What is shared


def add_one(tensors, done):
    for tensor in tensors:
        with weft.no_grad():
            tensor += 1
    done.put(None)


def run(method, target, *args):
    """Run a function in a process; its last argument is a queue, which it puts something into."""
    context = multiprocessing.get_context(method)
    queue = context.SimpleQueue()
    process = context.Process(target=target, args=(*args, queue))
    process.start()
    wait([queue._reader, process.sentinel])  # rather than hang where the process has failed
    assert not queue.empty(), f"the process ended with exit code {process.exitcode}"
    found = queue.get()
    process.join()
    assert process.exitcode == 0
    return found


@pytest.mark.parametrize("method", METHODS)
def test_a_process_writes_to_the_tensors_that_it_is_given(method, strategy):
    whole = weft.zeros(6)
    tensors = [whole[2:4], weft.zeros(3, dtype=weft.bfloat16), weft.ones(2, requires_grad=True)]
    for tensor in tensors:
        tensor.share_memory_()
    run(method, add_one, tensors)
    assert whole.tolist() == [0, 0, 1, 1, 0, 0]
    assert [tensor.tolist() for tensor in tensors[1:]] == [[1, 1, 1], [2, 2]]
    assert tensors[2].requires_grad


def test_what_is_pickled_for_another_process_becomes_shared(strategy):
    tensors = [weft.zeros(2, 3).t(), weft.arange(4)]
    run("spawn", add_one, tensors)
    assert tensors[0].tolist() == [[1, 1]] * 3
    assert tensors[0].stride() == (1, 3)
    assert tensors[1].tolist() == [1, 2, 3, 4]
    assert all(tensor.is_shared() for tensor in tensors)


def test_a_tensor_that_goes_through_a_queue_and_back_is_in_the_same_place(strategy):
    queue = multiprocessing.get_context("fork").SimpleQueue()
    sent = weft.arange(5.0)
    queue.put((sent, sent[1:3]))
    whole, part = queue.get()
    assert whole.data_ptr() == sent.data_ptr()
    part[0] = 9.0
    assert sent.tolist() == [0, 9, 2, 3, 4]


def test_base_and_views_move_together():
    base = weft.zeros(4)
    first, second = base[:2], base[2:]
    second.share_memory_()
    base[0] = 1.0
    second[1] = 2.0
    assert first.tolist() == [1, 0]
    assert base.tolist() == [1, 0, 0, 2]
    assert base.is_shared()
    assert first.is_shared()


def test_a_storage_takes_its_tensor_along():
    tensor = weft.arange(3.0)
    storage = tensor.untyped_storage()
    assert not storage.is_shared()
    assert storage.share_memory_() is storage
    tensor[0] = 7.0
    assert tensor.is_shared()
    assert tensor.untyped_storage() == storage
    assert weft.tensor([], dtype=weft.float32).set_(storage, 0, (3,)).tolist() == [7, 1, 2]
    assert weft.zeros(2).storage().share_memory_().is_shared()


def test_a_tensor_of_a_child_outlives_the_child(strategy):
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=send_and_wait, args=(theirs,))
    child.start()
    found = ours.recv()
    ours.send(None)
    child.join()
    assert found.tolist() == [0, 1, 2]


def send_and_wait(connection):
    connection.send(weft.arange(3))
    connection.recv()


def test_a_pool_maps_over_tensors():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.map(weft.square, [weft.tensor([2.0]), weft.tensor([3.0])])
    assert [each.tolist() for each in found] == [[4], [9]]


@pytest.mark.parametrize("value", [weft.empty(0), weft.empty(2, 0, 3)], ids=str)
def test_what_has_no_memory_arrives_too(value):
    queue = multiprocessing.get_context("fork").SimpleQueue()
    queue.put(value)
    found = queue.get()
    assert (found.shape, found.dtype, found.device) == (value.shape, value.dtype, value.device)


def test_a_tensor_with_history_is_refused():
    queue = multiprocessing.get_context("fork").SimpleQueue()
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        queue.put(weft.ones(2, requires_grad=True) * 2)


def test_names_of_multiprocessing_are_there():
    assert all(getattr(mp, name) is getattr(multiprocessing, name) for name in multiprocessing.__all__)


def test_an_unknown_strategy_is_refused():
    with pytest.raises(AssertionError, match="'shm' is not among the ways"):
        mp.set_sharing_strategy("shm")


# What is left behind


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="counts open files in /proc")
def test_segments_go_with_their_last_user(strategy, named_segments):
    queue = multiprocessing.get_context("fork").SimpleQueue()

    def left_after(rounds):
        for number in range(rounds):
            queue.put(weft.full((1000,), number))
            assert queue.get()[0].item() == number
        gc.collect()
        return len(os.listdir("/proc/self/fd")), named_segments()

    assert left_after(3) == left_after(30)


def run_script(body):
    program = f"""
import os, signal, weft
import weft.multiprocessing as mp
weft._tensor.shared_memory._memory_folder = {shared_memory._memory_folder!r}
{textwrap.dedent(body)}"""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=SECONDS, check=False)


@pytest.mark.parametrize("leave", ["pass", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_a_program_leaves_nothing_behind_however_it_ends(leave, named_segments):
    run_script(f"tensor = weft.zeros(1000).share_memory_()\n{leave}")
    assert named_segments() == []


def test_a_program_removes_its_files_when_it_ends(named_segments):
    script = "mp.set_sharing_strategy('file_system')\ntensor = weft.zeros(1000).share_memory_()\n"
    done = run_script(script + "print(len(os.listdir(weft._tensor.shared_memory._memory_folder)))")
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    assert named_segments() == []


# spawn


def write_rank(rank, tensor):
    tensor[rank] = rank + 1


def fail_in_second(rank):
    if rank == 1:
        raise ValueError("bad rank")
    time.sleep(SECONDS)


def kill_second(rank):
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(SECONDS)


def exit_with_code(rank):
    sys.exit(3)


def test_spawn_calls_the_function_in_each_process_with_its_number():
    tensor = weft.zeros(2)
    assert mp.spawn(write_rank, (tensor,), nprocs=2) is None
    assert tensor.tolist() == [1, 2]


def test_spawn_without_joining_gives_the_processes():
    tensor = weft.zeros(2).share_memory_()
    context = mp.start_processes(write_rank, (tensor,), nprocs=2, join=False, start_method="fork")
    assert len(context.pids()) == 2
    while not context.join():
        pass
    assert tensor.tolist() == [1, 2]
    assert context.join() is True
    assert not any(os.path.exists(path) for path in context.error_files)


def test_an_exception_ends_all_processes_and_is_raised_with_its_traceback():
    with pytest.raises(
        mp.ProcessRaisedException, match=r"Process 1 terminated with the following error:\nTrace"
    ) as caught:
        mp.start_processes(fail_in_second, nprocs=2, start_method="fork")
    assert "ValueError: bad rank" in str(caught.value)
    assert caught.value.error_index == 1
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(
    ("function", "message", "code", "name"),
    [
        (kill_second, "process 1 terminated with signal SIGKILL", -9, "SIGKILL"),
        (exit_with_code, "process 0 terminated with exit code 3", 3, None),
    ],
)
def test_a_process_that_ends_early_ends_all_and_is_reported(function, message, code, name):
    with pytest.raises(mp.ProcessExitedException, match=message) as caught:
        mp.start_processes(function, nprocs=2 if name else 1, start_method="fork")
    assert (caught.value.exit_code, caught.value.signal_name) == (code, name)
    assert multiprocessing.active_children() == []


def test_spawn_warns_of_another_start_method():
    with pytest.warns(FutureWarning, match=r"only supports start_method=spawn \(got: fork\)"):
        mp.spawn(exit_quietly, nprocs=1, start_method="fork")


def exit_quietly(rank):
    pass


def test_a_weak_reference_to_a_storage_is_of_its_memory():
    from weft.multiprocessing.reductions import StorageWeakRef

    x = weft.ones(3)
    first, second = StorageWeakRef(x.untyped_storage()), StorageWeakRef(x[1:].untyped_storage())
    assert first == second
    assert len({first, second, StorageWeakRef(weft.ones(3).untyped_storage())}) == 2
    assert not first.expired()
    del x
    assert first.expired()
