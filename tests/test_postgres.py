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


@pytest.mark.parametrize(
    ("host", "read"),
    [("%2Ftmp%2FMine", "/tmp/Mine"), ("[::1]", "::1"), ("127.0.0.1", "127.0.0.1")],
    ids=["a socket", "IPv6", "IPv4"],
)
def test_the_host_of_an_address_may_be_the_folder_of_a_socket(host: str, read: str) -> None:
    assert [parse(f"postgresql://ada@{host}{port}/shop")["HOST"] for port in (":5433", "")] == [read, read]


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
@pytest.mark.parametrize(("tcp", "listens"), [(False, ""), (True, "127.0.0.1")])
def test_a_server_listens_on_its_socket_alone_unless_asked(tcp: bool, listens: str) -> None:
    with Postgres(tcp=tcp) as server, psycopg.connect(server.url) as connection:
        said = connection.execute("show listen_addresses").fetchone()
        folder = Path(connection.execute("show unix_socket_directories").fetchone()[0])  # type: ignore[index]
        mode, at = folder.stat().st_mode & 0o777, connection.info.host

    assert (said, mode) == ((listens,), 0o700)
    assert at == (listens or str(folder))


@pytest.mark.postgresql
def test_no_server_runs_as_root() -> None:
    with Postgres() as server:
        owner = Path(f"/proc/{server.pid}").stat().st_uid

    assert owner == (os.geteuid() or UNPRIVILEGED)
