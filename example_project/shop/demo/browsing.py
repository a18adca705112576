"""A visitor of the shop: pages by HTTP, with cookies and the tokens of Django's forms."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http.cookiejar import CookieJar
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, ProxyHandler, build_opener

SECONDS = 30


@dataclass(frozen=True)
class Page:
    """Where a visit ended up, redirects followed, and what is there."""

    status: int
    path: str
    text: str


class Visitor:
    """Gets and posts on one site."""

    def __init__(self, site: str) -> None:
        self._site = site
        self._cookies = CookieJar()
        # Whatever proxy the environment names is not for this machine's own pages.
        self._opener = build_opener(ProxyHandler({}), HTTPCookieProcessor(self._cookies))

    def get(self, path: str) -> Page:
        """A page."""
        return self._open(path, None)

    def json(self, path: str) -> dict[str, Any]:
        """What a JSON page holds."""
        answer: dict[str, Any] = json.loads(self.get(path).text)
        return answer

    def events(self, path: str) -> list[dict[str, Any]]:
        """What a page's stream of events tells, to its end."""
        with self._opener.open(self._site + path, None, SECONDS) as stream:
            lines = [line.decode().strip() for line in stream]
        told = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
        return [event for event in told if event]

    def post(self, path: str, **fields: str) -> Page:
        """Fills in the form of a page and sends it."""
        self.get(path)
        token = next(cookie.value for cookie in self._cookies if cookie.name == "csrftoken")
        return self._open(path, urlencode({**fields, "csrfmiddlewaretoken": token}).encode())

    def is_answered(self) -> bool:
        """Whether there is a server at all."""
        try:
            return self.get("/").status == 200
        except (URLError, ConnectionError):
            return False

    def _open(self, path: str, data: bytes | None) -> Page:
        try:
            answer = self._opener.open(self._site + path, data, SECONDS)
        except HTTPError as error:
            answer = error
        with answer:
            return Page(answer.status, answer.url.removeprefix(self._site), answer.read().decode())
