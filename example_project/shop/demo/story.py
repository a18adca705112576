"""What the demo tells, fact by fact, as a customer and an operator see it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from shop.payments import DECLINED

from .browsing import Visitor
from .facts import Facts, expect, wait_for
from .places import Place
from .programs import Programs, free_port

LOGIN = "demo"
CARD = "4242 4242 4242 4242"
FAILED = "/admin/tinystore_django/job/?state=failed"


class Story:
    """The facts in their order. `site` is there once the shop is open."""

    def __init__(self, facts: Facts, programs: Programs, place: Place, password: str) -> None:
        self._facts = facts
        self._programs = programs
        self._place = place
        self._password = password
        self.site = f"http://127.0.0.1:{free_port()}"
        self._visitor = Visitor(self.site)

    def tell(self) -> None:
        """Tells all of it. Raises NotSo at the first fact that does not hold."""
        self.migrate()
        self.open()
        self.order()
        self.roll_back()
        self.retry()
        self.watch()
        self.show_schedule()
        self.show_admin()

    def migrate(self) -> None:
        began = time.monotonic()
        self._programs.run("migrate")
        self._programs.run("createsuperuser", "--noinput", "--username", LOGIN, "--email", "demo@shop.example")
        self._facts.say(f"a new {self._place.name} database is migrated, with the queue's tables in it", began)

    def open(self) -> None:
        began = time.monotonic()
        self._programs.start("tinystore_work", "--no-reload")
        self._programs.start("serve", self.site.removeprefix("http://"))
        self._wait_for("the web server answers", self._visitor.is_answered)
        self._wait_for("the worker opens its schedule", lambda: self._status()["cleanup"])
        self._facts.say(f"a worker runs, and the web server answers at {self.site}", began)

    def order(self) -> None:
        began = time.monotonic()
        path = self._place_order("ada@example.com")
        self._wait_for("the email is sent", lambda: self._email(path)["state"] == "sent")
        self._facts.say(f"{_named(path)} and its job committed together, and the worker sent the email", began)

    def roll_back(self) -> None:
        before, began = self._counts(), time.monotonic()
        page = self._visitor.post("/", email="bob@example.com", item="cups", card=DECLINED)
        expect("declined" in page.text, f"the card is declined, but the page at {page.path} says nothing of it")
        after = self._counts()
        expect(after == before, f"a rollback leaves no order and no job: {before} before, {after} after")
        self._facts.say("a declined card rolled an order back: no order, and no job of it", began)

    def retry(self) -> None:
        began = time.monotonic()
        path = self._place_order("cleo@busy.example")
        self._wait_for("the email is sent after all", lambda: self._email(path)["state"] == "sent")
        tries = self._email(path)["tries"]
        expect(tries == 2, f"the email of {_named(path)} is sent at its second attempt, but it was at {tries}")
        self._facts.say(f"the email of {_named(path)} failed, waited for its backoff, and was sent at attempt 2", began)

    def watch(self) -> None:
        began = time.monotonic()
        for title in ("Steam", "Leaves", "Pouring"):
            path = self._visitor.post("/videos/", title=title, seconds="20").path
        events = self._visitor.events(f"{path}events/")
        expect(events and events[-1]["state"] == "done", f"the page of a video follows it to its end, but: {events}")
        seen = [f"{one['ahead']} ahead" if one["state"] == "waiting" else one["state"] for one in events]
        self._facts.say(f"a video's page followed its job without a reload: {', '.join(dict.fromkeys(seen))}", began)

    def show_schedule(self) -> None:
        began = time.monotonic()
        job = self._status()["cleanup"]
        expect(job, "the schedule is open")
        self._facts.say(f"schedule cleanup, kept as {job['repeat']!r}, runs next at {job['at']}", began)

    def show_admin(self) -> None:
        began = time.monotonic()
        path = self._place_order("dan@nowhere.example")
        self._wait_for("the email fails for good", lambda: self._email(path)["state"] == "failed")
        self._visitor.post("/admin/login/", username=LOGIN, password=self._password, next=FAILED)
        page = self._visitor.get(FAILED)
        expect(page.status == 200 and page.path == FAILED, f"the admin answers, but {page.path} did: {page.status}")
        expect("no mailbox dan@nowhere.example" in page.text, "the admin shows the failed job with its error")
        self._facts.say(f"the admin's page of failed jobs shows that of {_named(path)} with its error", began)

    def _place_order(self, email: str) -> str:
        path = self._visitor.post("/", email=email, item="teapot", card=CARD).path
        expect(path.startswith("/orders/"), f"the order of {email} is placed, but the shop leads to {path}")
        return path

    def _email(self, order: str) -> dict[str, Any]:
        return self._visitor.json(f"{order}status/")

    def _status(self) -> dict[str, Any]:
        return self._visitor.json("/status/")

    def _counts(self) -> dict[str, int]:
        """The orders, and the jobs in whatever state: done ones are still there."""
        status = self._status()
        return {"orders": status["orders"], "jobs": sum(status["emails"].values())}

    def _wait_for(self, what: str, look: Callable[[], object]) -> None:
        def look_at_living() -> object:
            self._programs.check()
            return look()

        wait_for(what, look_at_living)


def _named(path: str) -> str:
    return path.strip("/").replace("orders/", "order ")
