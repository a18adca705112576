"""What tests run with: TINYSTORE_TEST_DATABASE (sqlite or postgresql) chooses the database.

A program that a test starts reads the same file and finds the test's own databases: `conftest.py` puts
their names into TINYSTORE_TEST_NAMES.
"""

from __future__ import annotations

import json
import os
from typing import Any

from tests import postgres

CHOICES = ("sqlite", "postgresql")
CHOSEN = os.environ.get("TINYSTORE_TEST_DATABASE", "sqlite")
NAMES: dict[str, str] = json.loads(os.environ.get("TINYSTORE_TEST_NAMES", "{}"))

if CHOSEN not in CHOICES:
    raise ValueError(f"TINYSTORE_TEST_DATABASE {CHOSEN!r}: write it as {' or '.join(CHOICES)}")


def sqlite(alias: str) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": NAMES.get(alias, ":memory:"),
        "OPTIONS": {
            "timeout": 20,
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL;",
        },
    }


def postgresql(alias: str, address: dict[str, str]) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.postgresql",
        **address,
        "NAME": NAMES.get(alias, address["NAME"]),
        "TEST": {"NAME": f"test_tinystore_{alias}"},
    }


if CHOSEN == "sqlite":
    DATABASES = {alias: sqlite(alias) for alias in ("default", "other")}
else:
    ADDRESS = postgres.address()
    DATABASES = {alias: postgresql(alias, ADDRESS) for alias in ("default", "other")}

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "tinystore_django",
    "tests.project",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
ROOT_URLCONF = "tests.project.urls"
STATIC_URL = "static/"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
SECRET_KEY = "for tests only"
ALLOWED_HOSTS = ["*"]
# A quick hash: tests log in often, and protect nothing.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# From Django 6.1 on, mail without it is a deprecation, and so an error here.
MAILERS = {"default": {"BACKEND": "django.core.mail.backends.locmem.EmailBackend"}}
USE_TZ = True
TIME_ZONE = "UTC"

# The project has a queue without a handler, on purpose.
SILENCED_SYSTEM_CHECKS = ["tinystore.W003"]
