"""manage.py demo: the shop in a temporary place, with a worker and a web server, looked at from outside."""

from __future__ import annotations

import secrets
import signal
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from shop.demo.facts import Facts, NotSo
from shop.demo.places import new_place
from shop.demo.programs import Programs
from shop.demo.story import LOGIN, Story

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Command(BaseCommand):
    help = "Shows the queue at work, one fact a line; whatever it starts and writes is gone afterwards."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--serve", action="store_true", help="stay up, for a look at the shop and its admin")
        parser.add_argument("--postgres", action="store_true", help="on the PostgreSQL that the environment names")

    def handle(self, *args: Any, serve: bool, postgres: bool, **options: Any) -> None:
        for number in SIGNALS:
            signal.signal(number, _interrupt)
        facts = Facts(self._write)
        try:
            self._tell(facts, serve, postgres)
        except NotSo as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            self._write("stopped: its processes have ended, and its files are gone")
            sys.exit(130)

    def _tell(self, facts: Facts, serve: bool, postgres: bool) -> None:
        password = secrets.token_urlsafe(8)
        with new_place(postgres) as place:
            with Programs(place, password) as programs:
                story = Story(facts, programs, place, password)
                story.tell()
                if serve:
                    self._serve(programs, story.site, password)
                began = time.monotonic()
            facts.say("the worker and the web server have stopped", began)

    def _serve(self, programs: Programs, site: str, password: str) -> None:
        self._write(f"\nthe shop:   {site}/\nthe admin:  {site}/admin/   login {LOGIN}, password {password}")
        self._write("Ctrl-C stops it, and nothing of it stays.")
        _until_interrupted(programs.check)

    def _write(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _until_interrupted(check: Callable[[], None]) -> None:
    try:
        while True:
            check()
            time.sleep(0.5)
    except KeyboardInterrupt:
        return


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Ends the demo; from then on it is stopping, and another signal must not keep it from that."""
    for one in SIGNALS:
        signal.signal(one, signal.SIG_IGN)
    raise KeyboardInterrupt
