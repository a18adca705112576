"""What this process declared: its queues and schedules, and the handler of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any
from weakref import WeakSet

from django.apps import apps
from django.db import router

from .callsite import Site, caller
from .errors import InvalidError
from .handlers import Handler, handler_of, named
from .models import Job
from .options import QueueOptions
from .timing.repeats import Repeat
from .values import Codec


@dataclass(slots=True, eq=False, weakref_slot=True)
class Declaration:
    """A queue or a schedule (which has a repeat) as its code declared it; its handler comes later."""

    registry: Registry
    name: str
    codec: Codec[Any]
    options: QueueOptions
    repeat: Repeat | None = None
    handler: Handler | None = None
    site: Site = ("", 0)  # where its code is
    is_late: bool = field(default_factory=lambda: apps.ready)  # no worker has it that starts with the apps alone
    warned: set[tuple[str, int]] = field(default_factory=set)

    @property
    def alias(self) -> str:
        return self.registry.alias

    @property
    def kind(self) -> str:
        return "schedule" if self.repeat else "queue"

    def register(self, fn: Callable[..., Any], atomic: bool = False) -> None:
        """Makes a function the handler.

        Raises:
            InvalidError: there is one already, or it cannot be one.
        """
        if self.handler is not None:
            raise InvalidError(f"{self.kind} {self.name!r} has a handler already, {named(self.handler.fn)}")
        self.handler = self.handler_of(fn, atomic)

    def handler_of(self, fn: Callable[..., Any], atomic: bool = False) -> Handler:
        return handler_of(fn, f"{self.kind} {self.name!r}", 0 if self.repeat else 1, atomic)

    def handled_by(self, fn: Callable[..., Any] | None) -> Declaration:
        """Itself, or with another handler for one `work` or `run_due`.

        Raises:
            InvalidError: there is no handler.
        """
        if fn is not None:
            return replace(self, handler=self.handler_of(fn))
        if self.handler is None:
            raise InvalidError(f"{self.kind} {self.name!r} has no handler: write @{self.name}.handler above a function")
        return self


class Registry:
    """The declarations of one store, by name: queues and schedules share their names."""

    def __init__(self, using: str | None = None) -> None:
        self.using = using
        self.declarations: dict[str, Declaration] = {}
        _registries.add(self)

    @property
    def alias(self) -> str:
        """The database: the store's own, or the one the project's routers name for writing jobs."""
        return self.using or router.db_for_write(Job)

    def declare(self, declaration: Declaration) -> Declaration:
        """Keeps a declaration, or gives back the same one made before.

        Raises:
            InvalidError: its name is taken by a declaration with another type or other options.
        """
        declaration.site = caller()
        before = self.declarations.setdefault(declaration.name, declaration)
        if before.kind != declaration.kind:
            raise InvalidError(f"{_placed(before)}, as a {before.kind}: give this {declaration.kind} another name")
        if differ := _differences(before, declaration):
            another = ", ".join(differ)
            raise InvalidError(f"{_placed(before)}, with another {another}: declare it once, and import it from there")
        return before


_registries: WeakSet[Registry] = WeakSet()


def declared() -> Iterator[Declaration]:
    """All queues and schedules of this process."""
    for registry in tuple(_registries):
        yield from registry.declarations.values()


def find(alias: str, name: str) -> Declaration | None:
    """The queue or schedule of that name on a database, if this process declares it."""
    found = (registry.declarations.get(name) for registry in tuple(_registries))
    return next((one for one in found if one is not None and one.alias == alias), None)


def _placed(before: Declaration) -> str:
    file, line = before.site
    return f"{before.kind} {before.name!r} is declared already in {file}:{line}"


def _differences(one: Declaration, other: Declaration) -> list[str]:
    """What two declarations of a name differ in."""
    names = [each.name for each in fields(QueueOptions)]
    options = [name for name in names if getattr(one.options, name) != getattr(other.options, name)]
    whole = {"type": one.codec.of != other.codec.of, "repeat": one.repeat != other.repeat}
    return [*(name for name, differs in whole.items() if differs), *options]
