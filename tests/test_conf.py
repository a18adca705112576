"""The settings and their defaults."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import override_settings

from tinystore_django import InvalidError, conf

S = 1_000_000


def test_every_setting_has_a_default() -> None:
    assert (conf.lease(), conf.poll(), conf.grace(), conf.notify()) == (30 * S, S, 30 * S, True)
    assert conf.redact() is None


def test_a_project_sets_what_it_likes_and_is_read_at_each_use() -> None:
    with override_settings(TINYSTORE={"LEASE": "1m30s", "NOTIFY": False, "GRACE": "0s"}):
        assert (conf.lease(), conf.poll(), conf.grace(), conf.notify()) == (90 * S, S, 0, False)
    assert conf.lease() == 30 * S


@pytest.mark.parametrize(
    ("read", "setting", "says"),
    [
        (conf.lease, {"LEASE": "0s"}, r"TINYSTORE\['LEASE'\] '0s': must be longer than nothing, such as '30s'"),
        (conf.lease, {"LEASE": "999ms"}, r"TINYSTORE\['LEASE'\] '999ms': write at least 1s"),
        (conf.lease, {"LEASE": 30}, r"TINYSTORE\['LEASE'\] 30: give a timedelta"),
        (conf.poll, {"POLL": "0s"}, r"TINYSTORE\['POLL'\] '0s'"),
        (conf.poll, {"POLL": "1 s"}, r"TINYSTORE\['POLL'\] '1 s': write it as"),
        (conf.grace, {"GRACE": "-1s"}, r"TINYSTORE\['GRACE'\] '-1s'"),
        (conf.notify, {"NOTIFY": "no"}, r"TINYSTORE\['NOTIFY'\] 'no': write True or False"),
        (conf.redact, {"REDACT": "no.such"}, r"TINYSTORE\['REDACT'\] 'no.such': write a function's path, as "),
        (conf.redact, {"REDACT": "os.nothing"}, r"TINYSTORE\['REDACT'\] 'os.nothing': write a function's path"),
        (conf.redact, {"REDACT": len}, r"TINYSTORE\['REDACT'\] .*: write a function's path"),
        (conf.redact, {"REDACT": "os.sep"}, r"TINYSTORE\['REDACT'\] 'os.sep': is no function"),
        (conf.notify, ["NOTIFY"], r"TINYSTORE \['NOTIFY'\]: write a dictionary"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_its_name(read: Any, setting: Any, says: str) -> None:
    with override_settings(TINYSTORE=setting), pytest.raises(InvalidError, match=says):
        read()
