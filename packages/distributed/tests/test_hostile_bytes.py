"""Bytes that anybody may send to the ports of a store and of an endpoint: none crashes, hangs, or is executed."""

import contextlib
import gc
import os
import random
import socket
import threading
import time
from datetime import timedelta

import numpy
import pytest

from weft.distributed import _authentication, _message_server
from weft.distributed._messages import HEADER, MAX_LENGTH, MessageError, decode, encode
from weft.distributed._reduce_ops import ReduceOp
from weft.distributed.communicators.tcp import TcpCommunicator
from weft.distributed.stores import HashStore, TCPStore

STRINGS = 1000
BOMB = b"cos\nsystem\n(S'touch {}'\ntR."  # a pickle that runs a command


class StorePort:
    """A store, and how one sees that it works."""

    def __init__(self):
        self.store = TCPStore("127.0.0.1", 0, is_master=True)
        self.address = ("127.0.0.1", self.store.port)

    def works(self):
        return self.store.add("n", 1) > 0

    def close(self):
        del self.store


class EndpointPort:
    """The endpoint of two communicators, and how one sees that they work."""

    def __init__(self):
        store = HashStore()
        self.pair = [TcpCommunicator(store, rank, 2, timedelta(seconds=20)) for rank in range(2)]
        self.address = ("127.0.0.1", self.pair[0]._address.port)

    def works(self):
        arrays = [numpy.ones(3), numpy.ones(3)]
        threads = [
            threading.Thread(target=each.all_reduce, args=(array, ReduceOp.SUM))
            for each, array in zip(self.pair, arrays, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        return all((array == 2).all() for array in arrays)

    def close(self):
        for each in self.pair:
            each.close()


PORTS = [StorePort, EndpointPort]


@pytest.fixture(params=PORTS, ids=["store", "endpoint"])
def port(request):
    gc.collect()  # of other tests
    before = threads_and_files()
    port = request.param()
    assert port.works()
    yield port
    assert port.works()
    port.close()
    for _ in range(100):  # sockets of the other side close after this one's
        if none_left(before):
            break
        time.sleep(0.02)
    assert none_left(before), (threads_and_files(), before)


def none_left(before):
    """Whether there are no more threads and files than before; what other tests left may go in the meantime."""
    return all(now <= then for now, then in zip(threads_and_files(), before, strict=True))


def threads_and_files():
    files = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    return threading.active_count(), files


def random_strings(marker):
    """What a port scanner, a stray client or an attacker may send; the same in each run."""
    source = random.Random(0)
    for number in range(STRINGS):
        data = source.randbytes(source.choice([0, 1, 7, 71, 72, 73, 500, 5000]))
        start = source.choice([b"", b"GET / HTTP/1.1\r\n\r\n", _authentication.MAGIC, BOMB.replace(b"{}", marker)])
        yield (start + data) if number % 2 else data


def test_random_bytes_of_strangers(port, tmp_path):
    marker = tmp_path / "executed"
    strangers = []
    for data in random_strings(os.fsencode(marker)):
        stranger = socket.create_connection(port.address, 5)
        send(stranger, data)
        strangers.append(stranger)
        if len(strangers) == 50:
            for each in strangers:
                each.close()
            strangers.clear()
    for each in strangers:
        each.close()
    assert not marker.exists()


def test_random_messages_of_those_who_were_let_in(port, tmp_path):
    marker = tmp_path / "executed"
    source = random.Random(1)
    for data in list(random_strings(os.fsencode(marker)))[:200]:
        with socket.create_connection(port.address, 5) as peer:
            _authentication.authenticate(peer, "the port")
            header = HEADER.pack(source.randrange(16), source.choice([len(data), 0, MAX_LENGTH, MAX_LENGTH + 1]))
            send(peer, source.choice([header, b""]) + data)
    assert not marker.exists()


@pytest.mark.parametrize("code", range(16))
def test_messages_with_other_fields_than_a_request_has(port, code):
    for fields in [(), (None,), (1,), ("a",), (b"a",), ([],), ([1],), (["a"], "b"), ("a", ["b"], []), (["a"], -1)]:
        with socket.create_connection(port.address, 5) as peer:
            _authentication.authenticate(peer, "the port")
            send(peer, encode(code, *fields))


def send(connection, data):
    with contextlib.suppress(OSError):  # it is dropped in the middle, as it should be
        connection.sendall(data)


def test_who_says_nothing_is_dropped(monkeypatch):
    monkeypatch.setattr(_message_server, "HANDSHAKE_SECONDS", 0.2)
    port = StorePort()
    with socket.create_connection(port.address, 10) as silent:
        _authentication.receive_exactly(silent, _authentication.GREETING_LENGTH)
        assert silent.recv(1) == b""
    assert port.works()


def test_strangers_beyond_a_number_push_out_the_oldest(monkeypatch):
    monkeypatch.setattr(_message_server, "MAX_STRANGERS", 3)
    port = StorePort()
    silent = [socket.create_connection(port.address, 10) for _ in range(5)]
    for each in silent:
        _authentication.receive_exactly(each, _authentication.GREETING_LENGTH)
    assert silent[0].recv(1) == b""
    assert port.works()
    for each in silent:
        each.close()


def test_a_client_believes_no_other_program():
    with socket.create_server(("127.0.0.1", 0)) as other:
        thread = threading.Thread(target=answer_with_zeros, args=(other,))
        thread.start()
        with pytest.raises(RuntimeError, match="another program"):
            TCPStore("127.0.0.1", other.getsockname()[1], timeout=timedelta(seconds=5))
        thread.join()


def answer_with_zeros(listener):
    connection, _ = listener.accept()
    with connection:
        connection.sendall(bytes(500))


@pytest.mark.parametrize("fields", [(), (None, 1, -(2**63), "ä", b"\xff"), ([], [1, "a", b"", None])])
def test_messages_come_back_as_they_were(fields):
    assert decode(encode(3, *fields)[HEADER.size :]) == list(fields)


@pytest.mark.parametrize(
    "body",
    [b"x", b"i123", b"s\xff\xff\xff\xffa", b"b\x00\x00\x00\x02a", b"s\x00\x00\x00\x01\xff", b"l\x00\x00\x00\x01l"],
)
def test_what_is_no_message_is_an_error(body):
    with pytest.raises(MessageError):
        decode(body)
