"""Stands for a payment provider: it declines one card."""

from __future__ import annotations

DECLINED = "4000 0000 0000 0002"


class CardDeclined(Exception):
    """The provider would not take the money."""


def charge(card: str) -> None:
    """Takes the money. Raises CardDeclined."""
    if card.replace(" ", "") == DECLINED.replace(" ", ""):
        raise CardDeclined("Your card was declined.")
