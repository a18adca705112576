from __future__ import annotations

import os
import signal
from pathlib import Path

import psycopg
import pytest

from tests.postgres import UNPRIVILEGED, Postgres, parse


def test_an_address_is_read_with_its_escapes() -> None:
    assert parse("postgresql://ada:p%40ss@db.example:5433/shop") == {
        "HOST": "db.example",
        "PORT": "5433",
        "USER": "ada",
        "PASSWORD": "p@ss",
        "NAME": "shop",
    }


@pytest.mark.parametrize("url", ["mysql://a@b/c", "postgresql://a@b", "shop"])
def test_another_address_is_refused_with_what_to_write(url: str) -> None:
    with pytest.raises(ValueError, match="write it as postgresql://user:password@host:5432/name"):
        parse(url)


@pytest.mark.slow
@pytest.mark.postgresql
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_a_restarted_server_keeps_its_address_and_its_rows(how: signal.Signals) -> None:
    with Postgres(durable=True) as server:
        before, url = server.pid, server.url
        with psycopg.connect(url) as connection:
            connection.execute("create table kept as select 1 as a")

        server.restart(how)

        assert (server.pid != before, server.url) == (True, url)
        with psycopg.connect(url) as connection:
            assert connection.execute("select a from kept").fetchall() == [(1,)]


@pytest.mark.postgresql
def test_no_server_runs_as_root() -> None:
    with Postgres() as server:
        owner = Path(f"/proc/{server.pid}").stat().st_uid

    assert owner == (os.geteuid() or UNPRIVILEGED)
