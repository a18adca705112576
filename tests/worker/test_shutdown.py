import os
import signal
import threading
import time

import pytest

from tinystore_django.worker.shutdown import SIGNALS, Shutdown

pytestmark = pytest.mark.once


def end_of_child(seconds: float) -> None:
    try:
        time.sleep(seconds)
    finally:
        os._exit(0)  # whatever comes: a child that went on would be a second pytest


def in_a_thread(call) -> None:
    thread = threading.Thread(target=call)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()


@pytest.mark.parametrize("number", SIGNALS)
def test_a_forked_child_is_ended_by_a_signal_however_early_it_comes(number: signal.Signals) -> None:
    ended = []

    def fork_and_end() -> None:
        for _ in range(100):
            child = os.fork()
            if child == 0:
                end_of_child(seconds=5)
            os.kill(child, number)
            ended.append(os.WTERMSIG(os.waitpid(child, 0)[1]))

    shutdown = Shutdown()
    with shutdown.on_signals():
        in_a_thread(fork_and_end)

    assert ended == [number] * 100
    assert not shutdown.asked


def test_a_process_that_forks_still_hears_its_own_signals() -> None:
    shutdown = Shutdown()

    def fork_and_ask() -> None:
        child = os.fork()
        if child == 0:
            end_of_child(seconds=0)
        os.waitpid(child, 0)
        assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()) & set(SIGNALS)
        os.kill(os.getpid(), signal.SIGTERM)

    with shutdown.on_signals():
        in_a_thread(fork_and_ask)
        assert shutdown.wait(5)


def test_a_signal_that_comes_twice_is_one_though_the_process_was_done_at_once() -> None:
    late: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: late.append(number))
    again = threading.Timer(0.03, os.kill, [os.getpid(), signal.SIGTERM])
    try:
        with Shutdown().on_signals():
            os.kill(os.getpid(), signal.SIGTERM)
            again.start()
        again.join()
    finally:
        signal.signal(signal.SIGTERM, before)

    assert late == []
