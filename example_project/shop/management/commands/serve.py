"""manage.py serve: the shop under ASGI, which its live pages need and `runserver` is not."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    help = "Serves the shop with uvicorn, under ASGI."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "address", nargs="?", default="127.0.0.1:8000", help="host:port; 127.0.0.1:8000 unless given"
        )

    def handle(self, *args: Any, address: str, **options: Any) -> None:
        try:
            import uvicorn
        except ImportError as error:
            raise CommandError("it needs uvicorn: python -m pip install uvicorn") from error
        host, _, port = address.rpartition(":")
        # Open pages are streams without an end: a stop waits for them a second.
        uvicorn.run(
            "example_project.asgi:application",
            host=host,
            port=int(port),
            lifespan="off",
            log_level="warning",
            timeout_graceful_shutdown=1,
        )
