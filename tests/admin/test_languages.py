"""The admin's pages in German and in French."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from tests.admin.conftest import Page, Pages, chosen_all, text
from tests.admin.tables import QUEUES, SCHEDULES, WORKERS, see
from tests.byhand import Hand
from tinystore_django import Queue, Store, Worker, models
from tinystore_django.admin.charts import of_hour
from tinystore_django.admin.stored import translated
from tinystore_django.databases.rows import Sum
from tinystore_django.lifecycle import leasing
from tinystore_django.lifecycle.aftermath import LOST
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db
Five = dict[str, models.Job]


@pytest.fixture
def german() -> Iterator[None]:
    with translation.override("de"):
        yield


@pytest.fixture
def french() -> Iterator[None]:
    with translation.override("fr"):
        yield


def test_the_list_is_german(five: Five, listed: Pages, german: None) -> None:
    page = listed()

    assert headings(page) == ["Warteschlange", "ID", "Zustand", "Fällig", "Versuch", "Gruppe", "Fehler", "Fortschritt"]
    assert page.column("state_now") == ["laufend", "fehlgeschlagen", "wartend", "geplant", "erledigt"]
    assert actions(page) == ["Jetzt erneut versuchen", "Jetzt ausführen", "Zeit verschieben …", "Abbrechen"]
    assert page.column("due_at")[3].endswith(" in 1 Stunde")


def test_the_list_is_french(five: Five, listed: Pages, french: None) -> None:
    page = listed()

    assert headings(page) == [
        "File d’attente",
        "ID",
        "État",
        "Échéance",
        "Tentative",
        "Groupe",
        "Erreur",
        "Progression",
    ]
    assert page.column("state_now") == ["en cours", "en échec", "en attente", "planifiée", "terminée"]
    assert actions(page) == ["Relancer maintenant", "Exécuter maintenant", "Déplacer l’heure…", "Annuler"]
    assert page.column("due_at")[3].endswith(" dans 1 heure")


def test_a_jobs_page_is_german(five: Five, opened: Pages, german: None) -> None:
    page = opened(five["failed"])

    assert page.field("state_now") == "fehlgeschlagen"
    assert page.field("attempt") == "1 von 3"
    assert {"Letzter Lauf", "Aufbewahrt bis", "Wiederholung"} <= labels(page)
    assert "Geschichte" in page.html


def test_a_jobs_page_is_french(five: Five, opened: Pages, french: None) -> None:
    page = opened(five["failed"])

    assert page.field("state_now") == "en échec"
    assert page.field("attempt") == "1 sur 3"
    assert {"Dernière exécution", "Conservée jusqu’au", "Répétition"} <= labels(page)
    assert "Historique" in page.html


def test_an_action_says_what_it_did_in_german(five: Five, act: Pages, german: None) -> None:
    assert act("retry_now", *five.values()).messages == [
        "1 fehlgeschlagener Auftrag wird erneut versucht.",
        (
            "4 Aufträge blieben unverändert (1 erledigt, 1 laufend, 1 wartend, 1 geplant): "
            "nur fehlgeschlagene Aufträge können erneut versucht werden."
        ),
    ]
    assert act("cancel", *five.values(), sure="yes").messages == [
        "4 Aufträge wurden abgebrochen.",
        "1 Auftrag blieb unverändert (1 erledigt): was erledigt oder verschwunden ist, kann nicht abgebrochen werden.",
    ]


def test_an_action_says_what_it_did_in_french(five: Five, act: Pages, french: None) -> None:
    assert act("retry_now", *five.values()).messages == [
        "1 tâche en échec a été relancée.",
        (
            "4 tâches sont restées inchangées (terminée : 1, en cours : 1, en attente : 1, planifiée : 1) : "
            "seules les tâches en échec peuvent être relancées."
        ),
    ]
    assert act("cancel", *five.values(), sure="yes").messages == [
        "4 tâches ont été annulées.",
        "1 tâche est restée inchangée (terminée : 1) : une tâche terminée ou disparue ne peut pas être annulée.",
    ]


@pytest.mark.parametrize(
    ("language", "shown"),
    [
        ("en", ["March 1, 2026, 1:30 p.m.", "March 1, 2026, 1:30:05 p.m."]),
        ("de", ["1. März 2026 13:30", "1. März 2026 13:30:05"]),
        ("fr", ["1 mars 2026 13:30", "1 mars 2026 13:30:05"]),
        ("fi", ["1. maaliskuuta 2026 kello 13.30", "1. maaliskuuta 2026 kello 13.30.05"]),
    ],
)
def test_a_time_is_written_as_the_language_writes_it(
    language: str, shown: list[str], emails: Queue[Any], listed: Pages
) -> None:
    emails.add(None, delay="1h30m")
    emails.add(None, delay="1h30m5s")

    with translation.override(language):
        page = listed()

    for cell, time in zip(page.column("due_at"), shown, strict=True):
        assert cell.startswith(f"{time} ")
    assert '<time datetime="2026-03-01T13:30:05+00:00" title="2026-03-01 13:30:05+00:00">' in page.html


@pytest.mark.parametrize(
    ("written", "german", "french"),
    [
        (LOST, "der Worker ging verloren", "le worker a été perdu"),
        (
            "the run passed its timeout of 0.3 s",
            "der Lauf hat sein Zeitlimit von 0.3 s überschritten",
            "l’exécution a dépassé son délai maximal de 0.3 s",
        ),
        (
            "its value no longer reads: Expected `int`,\ngot `str`",
            "sein Wert ist nicht mehr lesbar: Expected `int`,",
            "sa valeur n’est plus lisible : Expected `int`,",
        ),
        ("no luck %(span)s, 5 %", "no luck %(span)s, 5 %", "no luck %(span)s, 5 %"),
    ],
)
def test_an_error_of_ours_is_shown_in_the_operators_language(
    written: str, german: str, french: str, emails: Queue[Any], hand: Hand, listed: Pages, opened: Pages
) -> None:
    emails.add(None)
    hand.end(hand.take_one(emails), "failed", written)

    for language, shown in (("de", german), ("fr", french), ("en", written.partition("\n")[0])):
        with translation.override(language):
            assert listed().column("short_error") == [shown]
            assert opened(models.Job.objects.get()).field("error_shown").startswith(shown)
    assert models.Job.objects.get().error == written  # what is kept stays as it is


def test_a_time_that_there_cannot_be_is_refused_in_the_operators_language(five: Five, act: Pages, german: None) -> None:
    assert "Bitte eine Zeit in den Jahren 1 bis 9999 angeben." in act("move_time", five["waiting"], time="450000w").html


@pytest.mark.parametrize(
    ("ago", "german", "french"),
    [
        ("20s", "vor 20 s", "il y a 20 s"),
        ("1h", "vor 1 Stunde", "il y a 1 heure"),
        ("3d", "vor 3 Tagen", "il y a 3 jours"),
        ("62d", "vor 2 Monaten", "il y a 2 mois"),
    ],
)
def test_a_distance_has_the_case_of_its_preposition(
    ago: str, german: str, french: str, emails: Queue[Any], clock: Clock, admin_client: Client
) -> None:
    emails.add(None)
    clock.advance(ago)

    assert [_oldest(admin_client, language) for language in ("de", "fr")] == [german, french]


@pytest.mark.parametrize(
    ("every", "german", "french"),
    [
        ({"every": "1h30m"}, "alle 1h30m", "toutes les 1h30m"),
        ({"cron": "10 3 * * *"}, "jeden Tag um 03:10 (UTC)", "chaque jour à 03:10 (UTC)"),
        (
            {"cron": "0 9 * * 1,5"},
            "jeden Montag, Freitag um 09:00 (UTC)",
            "chaque lundi, vendredi à 09:00 (UTC)",
        ),
        ({"cron": "5 0 1 * *"}, "jeden Monat am Tag 1 um 00:05 (UTC)", "chaque mois le 1 à 00:05 (UTC)"),
        ({"cron": "5 * * * *"}, "jede Stunde zur Minute 5 (UTC)", "chaque heure à la minute 5 (UTC)"),
    ],
)
def test_a_repeat_has_words_in_the_operators_language(
    every: dict[str, str], german: str, french: str, shop: Store, clock: Clock, admin_client: Client
) -> None:
    shop.schedule("report", **every)

    assert [_repeat(admin_client, language) for language in ("de", "fr")] == [german, french]


def test_the_page_of_queues_is_german(emails: Queue[Any], admin_client: Client, german: None) -> None:
    emails.add(None)
    emails.add(None, delay="1h")

    row = see(admin_client, QUEUES).row("emails")

    assert (row["Wartend"], row["Geplant"], row["Laufend"], row["Fehlgeschlagen"]) == ("1", "1", "0", "0")
    assert row["options"].startswith("3 Versuche Wartezeit nach Fehlern 1s bis 1h Zeitlimit 1m ")
    assert row["notes"] == "Kein Handler vorhanden. Kein Worker läuft dafür."


def test_a_chart_counts_in_the_operators_language(french: None) -> None:
    started, failed, wait = of_hour([Sum("emails", 1, 1, 500_000)])
    assert [one.caption for one in (started, failed, wait)] == ["1 démarrée", "1 en échec", "attente maximale : 500ms"]

    started, *_ = of_hour([Sum("emails", 2)])
    assert started.caption == "2 démarrées"
    assert "Démarrées au cours de la dernière heure : 2, au plus 2 en une minute" in started.picture


def test_the_page_of_workers_is_french(shop: Store, clock: Clock, admin_client: Client, french: None) -> None:
    assert "Aucun worker n’est actif" in see(admin_client, WORKERS).html

    for number, woken in enumerate(["by LISTEN/NOTIFY and every 1s", "every 1m30s", "by a bell"]):
        leasing.take("default", f"host:{number}", ["emails"], 30_000_000, woken=woken)
    rows = see(admin_client, WORKERS).rows

    assert rows[0]["Dernier renouvellement"] == "il y a 0 s"
    assert [row["Réveil"] for row in rows] == [
        "par LISTEN/NOTIFY et toutes les 1s",
        "toutes les 1m30s",
        "by a bell",
    ]


@pytest.mark.parametrize("notify", [True, False])
def test_however_a_worker_is_woken_is_said_in_german(
    notify: bool, emails: Queue[Any], clock: Clock, settings: Any, german: None
) -> None:
    settings.TINYSTORE = {"NOTIFY": notify}
    emails.handler(print)

    woken = Worker([emails._declaration], poll=1_000_000).woken

    assert translated(woken) != woken


def test_the_box_without_a_script_has_a_plural(five: Five, admin_client: Client, listed: Pages, german: None) -> None:
    assert "Die Aktion gilt für alle 5 gefundenen, wenn einer davon angekreuzt ist" in listed().html
    assert "Die Aktion gilt für den 1 gefundenen, wenn er angekreuzt ist" in listed(state="failed").html


def test_a_language_without_a_catalogue_is_english(five: Five, admin_client: Client) -> None:
    with translation.override("nl"):
        assert chosen_all(admin_client, "retry_now", "?state=failed").messages == ["Retried 1 failed job."]


def headings(page: Page) -> list[str]:
    found = re.findall(r'<th scope="col" class="column-(?!action_checkbox).*?</th>', page.html, re.DOTALL)
    return [text(one) for one in found]


def actions(page: Page) -> list[str]:
    (menu,) = re.findall(r'<select name="action".*?</select>', page.html, re.DOTALL)
    return [text(one) for one in re.findall(r'<option value="\w+">.*?</option>', menu)]


def labels(page: Page) -> set[str]:
    return {text(one) for one in re.findall(r'<tr class="field-\w+"><th scope="row">(.*?)</th>', page.html)}


def _oldest(client: Client, language: str) -> str:
    with translation.override(language):
        row = see(client, QUEUES).row("emails")
    return row["Älteste Fälligkeit" if language == "de" else "Plus ancienne échéance"]


def _repeat(client: Client, language: str) -> str:
    with translation.override(language):
        return see(client, SCHEDULES).row("report")["options"]
