"""The names of queues as one parameter of a statement, which is then the same for one queue and for thousands."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models.expressions import RawSQL

from . import database

# The elements of the parameter `queues`, as `Database.array` makes it.
KNOWN = {
    "postgresql": "unnest(%(queues)s::text[]) known(queue)",
    "sqlite": "(select value as queue from json_each(%(queues)s)) known",
}

# The same of `pairs`, a JSON array of arrays: each queue and a text.
KNOWN_TEXTS = {
    "postgresql": "(select value->>0 as queue, value->>1 as text from json_array_elements(%(pairs)s::json)) known",
    "sqlite": """(select json_extract(value, '$[0]') as queue, json_extract(value, '$[1]') as text
        from json_each(%(pairs)s)) known""",
}

NAMES = {"postgresql": "select unnest(%s::text[])", "sqlite": "select value from json_each(%s)"}
NUMBERS = {"postgresql": "select unnest(%s::bigint[])", "sqlite": "select value from json_each(%s)"}


def numbers_in(alias: str, some: Collection[int]) -> RawSQL:
    """What `__in` of a primary key is given, so that its statement is the same for one and for thousands."""
    store = database(alias)
    return RawSQL(NUMBERS[store.vendor], (store.array(sorted(some)),))


def names_in(alias: str, some: Collection[str]) -> RawSQL:
    """The same of the name of a queue."""
    store = database(alias)
    return RawSQL(NAMES[store.vendor], (store.array(sorted(some)),))
