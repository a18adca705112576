"""The end of the command's process: its own exit code, by its grace, whatever a handler or a reader does."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import IO

import pytest

from tests.programs import HOME, Program, script
from tests.project.jobs import marks

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

# A program that is the command, with a queue of its own whose job is to do something.
COMMAND = """
import atexit, os, signal, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from django.core.management import execute_from_command_line
from tinystore_django import store

queue = store.queue("last-things", str)
sys.argv = ["manage.py", "tinystore_work", "last-things", "--until-idle", %(flags)s]

@queue.handler
def last_things(value):
    %(does)s

queue.add("a")
execute_from_command_line(sys.argv)
%(then)s
"""


def command(does: str, *flags: str, then: str = "") -> Program:
    quoted = ", ".join(map(repr, flags))
    return script(COMMAND % {"does": does, "flags": quoted, "then": then})


@pytest.mark.once
def test_what_a_handler_leaves_behind_does_not_keep_the_process_past_its_grace() -> None:
    leaves = """
    globals()['pool'] = ThreadPoolExecutor(1)
    pool.submit(time.sleep, 60)
    threading.Thread(target=time.sleep, args=[60], daemon=False).start()
    atexit.register(time.sleep, 60)"""

    with command(leaves, "--grace=1500ms") as program:
        program.wait_for_line("ended: settled 1 run")
        said = time.monotonic()
        assert program.wait(20) == 0
        took = time.monotonic() - said

    assert 1 < took < 1.5 + 3


@pytest.mark.once
def test_a_main_thread_that_gets_no_answer_keeps_no_process_that_was_asked_to_stop() -> None:
    code = """
import os, signal, sys, threading, time
from django.core.management import execute_from_command_line
from tinystore_django.worker import farewell
from tinystore_django.worker.worker import Worker
import tinystore_django.management.commands.tinystore_work as command
command.OVERDUE = 1.0
sys.argv = ["manage.py", "tinystore_work", "marks", "--grace=0s"]

def start(worker):
    os.kill(os.getpid(), signal.SIGTERM)
    while True:
        time.sleep(60)

Worker.start = start
execute_from_command_line(sys.argv)
"""
    with script(code) as program:
        assert program.wait(20) == 0


@pytest.mark.once
def test_hooks_of_the_processs_end_have_their_turn() -> None:
    with command("atexit.register(print, 'sent')") as program:
        assert program.wait() == 0

    assert program.said("sent") == ["sent"]


SIGNAL = "os.kill(os.getpid(), signal.SIGTERM)"
LAST = f"class Last:\n    def __del__(self): {SIGNAL}\nlast = Last()"


@pytest.mark.once
@pytest.mark.parametrize(
    ("then", "code"),
    [
        (f"atexit.register(lambda: ({SIGNAL}, time.sleep(0.2), {SIGNAL}))", 1),
        (LAST, 0),
        (f"{LAST}\natexit.register(print, 'a hook')", 0),
    ],
    ids=["in a hook", "as Python ends", "behind a late hook"],
)
def test_a_signal_in_the_last_moments_is_an_exit_code(then: str, code: int) -> None:
    with command("pass", then=then) as program:
        assert program.wait() == code
    assert len(program.said("a hook")) == then.count("a hook")


@pytest.mark.once
def test_a_program_that_calls_the_command_goes_on_after_it() -> None:
    code = """
from django.core.management import call_command
from tests.project.jobs import marks
call_command("tinystore_work", "marks", "--until-idle", "--grace=0s")
import time
time.sleep(1.5)
print("went on")
raise SystemExit(3)
"""
    with script(code) as program:
        assert program.wait() == 3

    assert program.said("went on")


@pytest.mark.once
def test_a_flag_that_cannot_be_is_still_exit_code_2() -> None:
    with script(
        "import sys; from django.core.management import execute_from_command_line as run\n"
        "sys.argv = ['manage.py', 'tinystore_work', '--poll=0s']; run(sys.argv)"
    ) as program:
        assert program.wait() == 2


def piped(*arguments: str) -> tuple[subprocess.Popen[str], IO[str]]:
    """A worker whose output, on stdout and stderr, goes to a pipe as it does where a supervisor keeps logs."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    read, write = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "django", "tinystore_work", *arguments],
        cwd=HOME,
        env={**environment, "DJANGO_SETTINGS_MODULE": "tests.settings", "PYTHONPATH": str(HOME)},
        stdin=subprocess.DEVNULL,
        stdout=write,
        stderr=write,
        text=True,
    )
    os.close(write)
    return process, os.fdopen(read)


@pytest.fixture
def ended() -> Iterator[list[subprocess.Popen[str]]]:
    """Those that are to be killed at the test's end, should it fail."""
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        process.kill()
        process.wait()


@pytest.mark.once
def test_what_it_says_reaches_a_pipe_line_by_line(ended: list[subprocess.Popen[str]]) -> None:
    process, output = piped("marks")
    ended.append(process)
    with output:
        first = output.readline()  # or it would wait for as long as the worker runs

        assert "runs marks" in first
        assert process.poll() is None
        process.terminate()
        assert process.wait(30) == 0


@pytest.mark.once
@pytest.mark.parametrize("flags", [["--until-idle"], ["--until-idle", "--processes=2"]], ids=["one", "two"])
def test_a_reader_that_has_gone_changes_no_exit_code(flags: list[str], ended: list[subprocess.Popen[str]]) -> None:
    marks.add("a", id="a")
    process, output = piped("marks", *flags)
    ended.append(process)
    output.close()

    assert process.wait(30) == 0
    assert marks.get("a") is None
