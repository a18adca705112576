import pytest

from tinystore_django.timing.cron import cron


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("10 3 * * *", "every day at 03:10"),
        ("@daily", "every day at 00:00"),
        ("0 9 * * 1", "every Monday at 09:00"),
        ("0 9 * * MON-FRI", "every Monday, Tuesday, Wednesday, Thursday, Friday at 09:00"),
        ("30 23 1,15 * *", "every month on day 1, 15 at 23:30"),
        ("5 * * * *", "every hour at minute 5"),
    ],
)
def test_a_common_cron_has_words(expression, words):
    assert cron(expression, "Europe/Berlin").in_words() == f"{words} (Europe/Berlin)"


@pytest.mark.parametrize(
    "expression",
    ["*/5 * * * *", "0 9,17 * * *", "0 9 1 1 *", "0 9 13 * 5", "5 * * * 1", "5 * 1 * *", "0,30 9 * * *"],
)
def test_another_cron_is_its_own_words(expression):
    assert cron(expression, "UTC").in_words() == f"{expression} (UTC)"
