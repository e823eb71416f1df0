"""Futures: one result, set once, for all that wait for it."""

import pickle
import threading

import pytest

import weft
from weft.futures import Future, collect_all, wait_all


def test_a_result_is_set_once_and_waited_for_by_other_threads():
    future = Future()
    seen = []
    threads = [threading.Thread(target=lambda: seen.append(future.wait())) for _ in range(4)]
    for each in threads:
        each.start()
    assert not future.done()
    with pytest.raises(RuntimeError, match="no result yet"):
        future.value()
    future.set_result(3)
    for each in threads:
        each.join()
    assert seen == [3] * 4 and future.done() and future.value() == 3
    for again in (future.set_result, lambda value: future.set_exception(ValueError(value))):
        with pytest.raises(RuntimeError, match="only be marked completed once"):
            again(4)


def test_callbacks_run_in_order_before_and_after_the_result_is_there():
    future, seen = Future(), []
    future.add_done_callback(lambda done: seen.append(("first", done.value())))
    future.add_done_callback(lambda done: seen.append(("second", done.value())))
    later = future.then(lambda done: done.wait() + 1).then(lambda done: done.wait() * 10)
    future.set_result(1)
    future.add_done_callback(lambda done: seen.append(("third", done.value())))
    assert seen == [("first", 1), ("second", 1), ("third", 1)] and later.wait() == 20
    for wrong in (future.then, future.add_done_callback):
        with pytest.raises(TypeError, match="callable"):
            wrong(3)


def test_errors_are_raised_where_the_result_is_asked_for(capsys):
    future = Future()
    future.set_exception(KeyError("lost"))
    for ask in (future.wait, future.value, lambda: wait_all([future]), collect_all([future]).wait):
        with pytest.raises(KeyError, match="lost"):
            ask()
    assert future.then(lambda done: "saved").wait() == "saved"
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        future.then(lambda done: 1 / 0).wait()
    future.add_done_callback(lambda done: 1 / 0)
    assert "ZeroDivisionError" in capsys.readouterr().err
    with pytest.raises(AssertionError, match="not an Exception"):
        Future().set_exception("text")


def test_several_futures_are_collected_when_the_last_is_done():
    futures = [Future() for _ in range(3)]
    collected = collect_all(futures)
    for number, each in enumerate(reversed(futures)):
        assert not collected.done()
        each.set_result(number)
    assert collected.wait() == futures and wait_all(futures) == [2, 1, 0]
    assert wait_all([]) == [] and weft.futures.Future is Future
    for wrong in (3, [1]):
        with pytest.raises(TypeError):
            collect_all(wrong)


def test_a_future_is_not_pickled():
    with pytest.raises(RuntimeError, match="Can not pickle"):
        pickle.dumps(weft.futures.Future())


def test_devices_of_a_future_have_indices():
    with pytest.raises(ValueError, match="Expected devices to have indices"):
        weft.futures.Future(devices=[weft.device("cpu")])
