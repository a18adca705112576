"""What is looked at before a worker process starts: what it is to run, and whether its database is ready."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from django.db import Error, ProgrammingError, connections
from django.db.migrations.executor import MigrationExecutor

from ..databases import database
from ..errors import InvalidError, quoted
from ..registry import Declaration, declared
from ..values import first_line
from .worker import Worker

APP = "tinystore_django"


def chosen(names: Collection[str], excluded: Collection[str]) -> list[Declaration]:
    """The declarations to run: those named, else all that have a handler, without the excluded.

    Raises:
        InvalidError: a name is not declared, one named has no handler, or nothing is left.
    """
    known = {one.name: one for one in declared()}
    for name in (*names, *excluded):
        if name not in known:
            raise InvalidError(
                f"no queue or schedule {quoted(name)}: declared are {', '.join(sorted(known)) or 'none'}"
            )
    wanted = [one for one in declared() if one.name not in excluded and (not names or one.name in names)]
    running = [one.handled_by(None) for one in wanted if names or one.handler is not None]
    if not running and excluded:
        without = " ".join(sorted(set(excluded)))
        raise InvalidError(f"nothing to run: --exclude {without} leaves no queue with a handler")
    if not running:
        raise InvalidError("nothing to run: declare a queue with a handler in an installed app's jobs.py")
    return running


def without_handler(names: Collection[str]) -> list[str]:
    """The declared queues that no worker of this code can run."""
    return [] if names else sorted(one.name for one in declared() if one.handler is None)


def check_ready(alias: str) -> None:
    """Checks that a worker can run on the database.

    Raises:
        InvalidError: it cannot; what to do about it.
    """
    check_migrated(alias)
    if fault := unfit(alias):
        raise InvalidError(fault)


def check_migrated(alias: str) -> None:
    """Checks that our tables are there.

    Raises:
        InvalidError: `migrate` has not run, or the role may not look whether it has.
    """
    try:
        missing = unmigrated(alias)
    except ProgrammingError as error:
        said = first_line(str(error))
        raise InvalidError(f"database {alias!r}: {said}: grant its role select on django_migrations") from error
    if missing:
        using = "" if alias == "default" else f" --database {alias}"
        raise InvalidError(f"the tables of {APP} are not in database {alias!r}: run manage.py migrate{using}")


def unmigrated(alias: str) -> bool:
    """Whether `migrate` has yet to make or change our tables."""
    connection = connections[alias]
    executor = MigrationExecutor(connection)
    leaves = executor.loader.graph.leaf_nodes(APP)
    if not leaves:  # MIGRATION_MODULES has turned our migrations off
        return f"{APP}_job" not in connection.introspection.table_names()
    return bool(executor.migration_plan(leaves))


def unfit(alias: str) -> str | None:
    """Why a migrated database can hold no queue all the same, and what to do about it; None where it can."""
    store = database(alias)
    if (encoding := store.encoding().replace("-", "").upper()) != "UTF8":
        return f"database {alias!r} is {encoding}, which does not keep every text: make one with the encoding UTF8"
    if forbidden := store.forbidden():
        grant = "grant its role select, insert, update and delete on them"
        return f"database {alias!r}: permission denied for {', '.join(forbidden)}: {grant}"
    return None


def await_database(worker: Worker, is_stopping: Callable[[float], bool]) -> bool:
    """Waits until the database answers and is ready, or it is to stop; False where that takes longer than it waits.

    Raises:
        InvalidError: it answers, and is not ready.
    """
    alias, pause = worker.alias, 0.0
    while not is_stopping(pause):
        try:
            check_ready(alias)
        except Error as error:
            pause = worker.patience.lost(error)
            if worker.patience.unanswered > worker.waits:
                return False
        else:
            return True
        finally:
            # Nothing is connected when the threads or processes start.
            connections[alias].close()
    return True


def described(workers: Iterable[Worker]) -> list[str]:
    """What the workers run, on which database and how they are woken; a line each."""
    return [_described(worker) for worker in workers]


def _described(worker: Worker) -> str:
    runs = ", ".join(f"{name} ({slots} at once)" for name, slots in worker.slots.items())
    vendor = connections[worker.alias].display_name
    return f"runs {runs} of database {worker.alias!r} ({vendor}), woken {worker.woken}"
