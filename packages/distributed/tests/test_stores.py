"""Stores: the same answers whatever keeps the values, as PyTorch's stores give them; who is let in, and who is not."""

import gc
import os
import socket
import threading
import time
from datetime import timedelta

import pytest
from ranks import run_ranks

import weft.distributed as dist
from weft.distributed import _authentication, _message_server
from weft.distributed.stores import FileStore, HashStore, PrefixStore, TCPStore

SHORT = timedelta(milliseconds=50)


@pytest.fixture(params=["hash", "tcp", "file", "prefix of tcp", "client of tcp"])
def store(request, tmp_path):
    if request.param == "hash":
        return HashStore()
    if request.param == "file":
        return FileStore(str(tmp_path / "store"), 1)
    held = TCPStore("127.0.0.1", 0, is_master=True)
    if request.param == "client of tcp":
        return TCPStore("127.0.0.1", held.port, is_master=False), held
    return PrefixStore("part", held) if request.param == "prefix of tcp" else held


@pytest.fixture
def a_store(store):
    """The store alone, without the one that holds it."""
    return store[0] if isinstance(store, tuple) else store


def has_queues(store):
    return not isinstance(store, FileStore)


def test_values_are_bytes(a_store):
    a_store.set("a", "text")
    a_store.set("b", b"\xff\x00")
    assert (a_store.get("a"), a_store.get("b"), a_store.multi_get(["b", "a"])) == (
        b"text",
        b"\xff\x00",
        [b"\xff\x00", b"text"],
    )


def test_add_counts_from_0(a_store):
    assert [a_store.add("n", amount) for amount in (2, 3, -1)] == [2, 5, 4]
    assert a_store.get("n") == b"4"


def test_add_to_what_is_no_number_is_an_error_that_leaves_the_store(a_store):
    a_store.set("word", "five")
    with pytest.raises(ValueError, match="word"):
        a_store.add("word", 1)
    assert a_store.get("word") == b"five"


def test_compare_set_answers_as_pytorchs(a_store):
    assert a_store.compare_set("key", "old", "new") == b"old"
    assert not a_store.check(["key"])
    assert a_store.compare_set("key", "", "first") == b"first"
    assert a_store.compare_set("key", "old", "new") == b"first"
    assert a_store.compare_set("key", "first", "second") == b"second"
    assert a_store.get("key") == b"second"


def test_append_multi_set_and_delete(a_store):
    a_store.append("list", "a")
    a_store.append("list", "b")
    a_store.multi_set(["x", "y"], ["1", b"2"])
    assert a_store.multi_get(["list", "x", "y"]) == [b"ab", b"1", b"2"]
    assert (a_store.delete_key("x"), a_store.delete_key("x"), a_store.check(["x"])) == (True, False, False)
    with pytest.raises(dist.DistStoreError, match="2 keys, but 1 values"):
        a_store.multi_set(["x", "y"], ["1"])


def test_keys_are_counted_and_listed(a_store):
    before = a_store.num_keys()
    a_store.multi_set(["x", "y"], ["1", "2"])
    assert a_store.num_keys() == before + 2
    assert {"x", "y"} <= set(a_store.list_keys())


def test_a_key_that_nobody_sets_is_named_after_the_timeout(a_store):
    a_store.set("here", "1")
    a_store.set_timeout(SHORT)
    assert a_store.timeout == SHORT
    for call in (
        lambda: a_store.get("gone"),
        lambda: a_store.wait(["here", "gone"]),
        lambda: a_store.wait(["gone"], SHORT),
    ):
        with pytest.raises(dist.DistStoreError, match="gone"):
            call()
    assert a_store.get("here") == b"1"


def test_get_and_wait_end_when_another_thread_sets_the_key(a_store):
    def set_soon():
        time.sleep(0.05)
        a_store.multi_set(["a", "b"], ["1", "2"])

    thread = threading.Thread(target=set_soon)
    thread.start()
    a_store.wait(["a", "b"], timedelta(seconds=20))
    thread.join()
    assert a_store.clone().get("b") == b"2"


def test_queues_keep_the_order(a_store):
    if not has_queues(a_store):
        with pytest.raises(NotImplementedError):
            a_store.queue_push("q", "1")
        return
    a_store.set_timeout(SHORT)
    for value in ("1", "2"):
        a_store.queue_push("q", value)
    assert [a_store.queue_len("q"), a_store.queue_pop("q"), a_store.queue_pop("q", block=False)] == [2, b"1", b"2"]
    with pytest.raises(dist.QueueEmptyError):
        a_store.queue_pop("q", block=False)
    with pytest.raises(dist.DistStoreError):
        a_store.queue_pop("q")


def test_barrier_lets_go_when_all_have_come(a_store):
    threads = [threading.Thread(target=a_store.barrier, args=("here", 2, timedelta(seconds=20))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    with pytest.raises(dist.DistStoreError):
        a_store.barrier("alone", 2, SHORT)


def test_the_parts_of_a_store_do_not_see_one_another():
    store = HashStore()
    one, two = PrefixStore("one", store), PrefixStore("a", PrefixStore("two", store))
    one.set("key", "1")
    assert (two.check(["key"]), one.list_keys(), store.list_keys()) == (False, ["key"], ["one/key"])
    assert two._underlying_non_prefix_store is store


# TCPStore


def test_the_system_chooses_a_port_and_the_store_tells_it():
    store = TCPStore("localhost", 0, is_master=True)
    assert (store.host, store.port > 0) == ("localhost", True)


def test_the_master_waits_for_all_workers_and_says_how_many_came():
    with pytest.raises(dist.DistStoreError, match="1 of 2 processes"):
        TCPStore("127.0.0.1", 0, 2, is_master=True, timeout=SHORT)


def test_nobody_at_the_address_is_a_network_error():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(dist.DistNetworkError, match="no connection to the store"):
            TCPStore("127.0.0.1", unused.getsockname()[1], timeout=SHORT)


def test_a_port_in_use_is_a_network_error():
    store = TCPStore("127.0.0.1", 0, is_master=True)
    with pytest.raises(dist.DistNetworkError, match="cannot listen"):
        TCPStore("127.0.0.1", store.port, is_master=True)


def test_a_master_that_is_one_twice_shares_its_values_if_multi_tenant():
    first = TCPStore("127.0.0.1", 0, is_master=True, multi_tenant=True)
    second = TCPStore("127.0.0.1", first.port, is_master=True, multi_tenant=True)
    first.set("a", "b")
    del first
    assert second.get("a") == b"b"


def test_a_listening_socket_can_be_given():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    port = listener.getsockname()[1]
    assert TCPStore("127.0.0.1", port, is_master=True, master_listen_fd=listener.detach()).add("n", 1) == 1


def test_a_client_of_a_master_that_ended_is_told():
    held = TCPStore("127.0.0.1", 0, is_master=True)
    client = TCPStore("127.0.0.1", held.port)
    del held
    with pytest.raises(dist.DistNetworkError, match=r"does not answer|no connection"):
        for _ in range(3):
            client.set("a", "b")


def test_the_last_reference_ends_the_thread_and_the_sockets():
    gc.collect()  # what earlier tests' exceptions held
    before = open_files()
    for _ in range(3):
        store = TCPStore("127.0.0.1", 0, 1, is_master=True)
        store.clone().set("a", "b")
        del store
    assert not [thread.name for thread in threading.enumerate() if thread.name == "weft-store"]
    assert open_files() <= before  # what other tests left may go in the meantime


def open_files():
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def one_store_in_processes(port):
    rank = int(os.environ["TEST_RANK"].split()[0])
    store = TCPStore("127.0.0.1", port, 4, is_master=False)
    return sorted(store.add("n", 1) for _ in range(50))[-1] + rank * 0


def test_processes_share_a_store():
    held = TCPStore("127.0.0.1", 0, is_master=True)
    run_ranks(one_store_in_processes, 3, held.port, begin=False)
    assert held.get("n") == b"150"


# Who is let in


@pytest.fixture
def held():
    return TCPStore("127.0.0.1", 0, is_master=True)


def test_a_shared_secret_lets_in(monkeypatch):
    monkeypatch.setenv("WEFT_DISTRIBUTED_SECRET", "sesame")
    held = TCPStore("127.0.0.1", 0, is_master=True)
    assert TCPStore("127.0.0.1", held.port).add("n", 1) == 1


@pytest.mark.parametrize(("secret", "reason"), [(None, "this process has none"), ("other", "another secret")])
def test_without_the_secret_nobody_is_let_in_and_told_how(monkeypatch, secret, reason):
    monkeypatch.setenv("WEFT_DISTRIBUTED_SECRET", "sesame")
    held = TCPStore("127.0.0.1", 0, is_master=True)
    if secret is None:
        monkeypatch.delenv("WEFT_DISTRIBUTED_SECRET")
    else:
        monkeypatch.setenv("WEFT_DISTRIBUTED_SECRET", secret)
    with pytest.raises(dist.DistNetworkError, match=f"{reason}.*WEFT_DISTRIBUTED_SECRET"):
        connect_in_thread(monkeypatch, held.port, "sesame")


def connect_in_thread(monkeypatch, port, secret_of_server):
    """Connect while the server, a thread of this process, goes on to have its own secret."""
    challenge = _authentication.Challenge

    class WithSecret(challenge):
        def __init__(self, connection):
            super().__init__(connection)
            self.secret = secret_of_server.encode()
            self.greeting = _authentication.MAGIC + b"\x01" + self.nonce

    monkeypatch.setattr(_message_server, "Challenge", WithSecret)
    TCPStore("127.0.0.1", port, timeout=timedelta(seconds=5))


@pytest.mark.skipif(not _authentication.can_tell_users(), reason="the system does not tell whose a socket is")
def test_without_a_secret_other_users_are_not_let_in(held, monkeypatch):
    monkeypatch.setattr(_authentication, "_socket_user", lambda local, remote: os.geteuid() + 1)
    with pytest.raises(dist.DistNetworkError, match=r"another user.*WEFT_DISTRIBUTED_SECRET"):
        TCPStore("127.0.0.1", held.port, timeout=timedelta(seconds=5))


@pytest.mark.skipif(not _authentication.can_tell_users(), reason="the system does not tell whose a socket is")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_system_tells_whose_the_other_end_is(host):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, 0), family=family)
    except OSError:
        pytest.skip("no IPv6 here")
    with listener, socket.create_connection(listener.getsockname()[:2]) as client:
        server, _ = listener.accept()
        with server:
            assert _authentication.is_same_user(server)
            assert _authentication.is_same_user(client)


def test_it_listens_on_the_address_it_is_told_alone(held):
    with socket.socket() as other:
        other.settimeout(1)
        with pytest.raises(OSError, match=r"refused|timed out|unreachable"):
            other.connect(("127.0.0.2", held.port))


# FileStore


def test_the_last_of_the_processes_removes_the_file(tmp_path):
    path = tmp_path / "store"
    first, second = FileStore(str(path), 2), FileStore(str(path), 2)
    first.set("a", "b")
    assert second.get("a") == b"b"
    del first
    assert path.exists()
    del second
    assert not path.exists()


def test_another_file_is_no_store(tmp_path):
    path = tmp_path / "store"
    path.write_bytes(b"something else that is long enough")
    with pytest.raises(dist.DistStoreError, match="not the file of a store"):
        FileStore(str(path), 1)


def test_the_files_of_others_are_not_readable(tmp_path):
    FileStore(str(tmp_path / "store"))
    assert (tmp_path / "store").stat().st_mode & 0o077 == 0


def test_a_request_that_comes_while_the_server_is_being_made_is_answered(monkeypatch):
    made = _message_server.MessageServer.__init__

    def slow(self, *args, **kwargs):
        made(self, *args, **kwargs)
        time.sleep(0.2)  # as on a loaded machine, before its owner has it

    monkeypatch.setattr(_message_server.MessageServer, "__init__", slow)
    listener = socket.create_server(("127.0.0.1", 0))
    port, answers = listener.getsockname()[1], []
    early = threading.Thread(target=lambda: answers.append(TCPStore("127.0.0.1", port, is_master=False).add("n", 2)))
    early.start()
    held = TCPStore("127.0.0.1", port, is_master=True, master_listen_fd=listener.detach())
    early.join(20)
    assert answers == [2]
    assert held.add("n", 1) == 3
