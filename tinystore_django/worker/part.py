"""A thread of a worker's own, without which the worker can do nothing right."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable

from ..log import logger


class Part(threading.Thread):
    """One that ends by an exception says so, and has its worker end."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.is_broken = False
        self.on_broken: Callable[[], object] = lambda: None

    @abstractmethod
    def work(self) -> None:
        """Do what the thread is for, until it is to stop."""

    def run(self) -> None:
        try:
            self.work()
        except BaseException as error:  # else nobody would hear of it, and the worker would go on without
            self.is_broken = True
            logger.critical("the worker ends: its thread %s was ended by an error", self.name, exc_info=error)
            self.on_broken()
