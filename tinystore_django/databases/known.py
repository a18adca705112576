"""The names of queues as one parameter of a statement, which is then the same for one queue and for thousands."""

from __future__ import annotations

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
