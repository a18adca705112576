"""tinystore_django, by the calls of its tutorial."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction

import tinystore_django
from benchmarks.others import measuring, program, projects


class Tinystore(program.Program):
    table = "tinystore_django_job"

    def __init__(self, url: str, variant: str) -> None:
        super().__init__(url, variant)
        projects.configure(url, ["tinystore_django"])
        from tinystore_django import store

        self.queue = store.queue("default", float)

    @classmethod
    def version(cls) -> str:
        return tinystore_django.__version__

    def install(self) -> None:
        projects.migrate()

    def add(self, values: Iterable[float], *, atomic: bool = False) -> None:
        if atomic:
            with transaction.atomic():
                self.add(values)
            return
        for value in values:
            self.queue.add(value)

    def add_many(self, values: list[int]) -> None:
        self.queue.add_many(values)

    def add_later(self) -> None:
        self.queue.add(0, delay="1d")

    def work(self, handler: program.Handler, concurrency: int, rate: program.Rate) -> None:
        with self.queue.work(handler, concurrency=concurrency):
            rate.wait()


if __name__ == "__main__":
    measuring.main(Tinystore)
