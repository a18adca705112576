from datetime import date

import pytest
from croniter import croniter
from hypothesis import given
from hypothesis import strategies as st

from tinystore_django.errors import InvalidError
from tinystore_django.timing.crontab import crontab, tidy

EVERY = {
    "minutes": tuple(range(60)),
    "hours": tuple(range(24)),
    "days": tuple(range(1, 32)),
    "months": tuple(range(1, 13)),
    "weekdays": tuple(range(7)),
}


def minute(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> int:
    return (date(year, month, day) - date(1970, 1, 1)).days * 1440 + hour * 60 + minute


def fields(expression: str) -> dict[str, tuple[int, ...]]:
    read = crontab(expression)
    return {name: values for name in EVERY if (values := getattr(read, name)) != EVERY[name]}


@pytest.mark.parametrize(
    ("expression", "restricted"),
    [
        ("* * * * *", {}),
        ("5 * * * *", {"minutes": (5,)}),
        ("08 009 * * *", {"minutes": (8,), "hours": (9,)}),
        ("5,1,1,3 * * * *", {"minutes": (1, 3, 5)}),
        ("*,5 * * * *", {}),
        ("*/20 * * * *", {"minutes": (0, 20, 40)}),
        ("*/60 * * * *", {"minutes": (0,)}),
        ("*/999999999 * * * *", {"minutes": (0,)}),
        ("50/3 * * * *", {"minutes": (50, 53, 56, 59)}),
        ("10-20/5,59 * * * *", {"minutes": (10, 15, 20, 59)}),
        ("51-59/57 * * * *", {"minutes": (51,)}),
        ("7-7 * * * *", {"minutes": (7,)}),
        (
            "0-0 0-0 1-1 1-1 0-0",
            {"minutes": (0,), "hours": (0,), "days": (1,), "months": (1,), "weekdays": (0,)},
        ),
        ("* */23 * * *", {"hours": (0, 23)}),
        ("* * */10 * *", {"days": (1, 11, 21, 31)}),
        ("* * * */5 *", {"months": (1, 6, 11)}),
        ("* * * jan,MAR-May,Oct/2 *", {"months": (1, 3, 4, 5, 10, 12)}),
        ("* * * * SUN", {"weekdays": (0,)}),
        ("* * * * 7", {"weekdays": (0,)}),
        ("* * * * 0,7", {"weekdays": (0,)}),
        ("* * * * 5-7", {"weekdays": (0, 5, 6)}),
        ("* * * * 5-7/2", {"weekdays": (0, 5)}),
        ("* * * * MON/2", {"weekdays": (0, 1, 3, 5)}),
        ("* * * * */3", {"weekdays": (0, 3, 6)}),
        ("* * * * mon-FRI", {"weekdays": (1, 2, 3, 4, 5)}),
        ("* * * * 1-fri/2", {"weekdays": (1, 3, 5)}),
        ("* * * * 0-7", {}),
        ("* * * * SUN-SAT", {}),
        (" 5  4\t* * * ", {"minutes": (5,), "hours": (4,)}),
        ("@hourly", {"minutes": (0,)}),
        ("@daily", {"minutes": (0,), "hours": (0,)}),
        ("@midnight", {"minutes": (0,), "hours": (0,)}),
        ("@weekly", {"minutes": (0,), "hours": (0,), "weekdays": (0,)}),
        ("@monthly", {"minutes": (0,), "hours": (0,), "days": (1,)}),
        ("@yearly", {"minutes": (0,), "hours": (0,), "days": (1,), "months": (1,)}),
        ("@annually", {"minutes": (0,), "hours": (0,), "days": (1,), "months": (1,)}),
    ],
)
def test_an_expression_is_the_values_of_its_fields(expression, restricted):
    assert fields(expression) == restricted


REFUSED = (
    "|*|* * * *|* * * * * *|* * * * * * *|60 * * * *|* 24 * * *|* * 0 * *|* * 32 * *|* * * 0 *|"
    "* * * 13 *|* * * * 8|"
    "* * L * *|* * LW * *|* * 15W * *|* * * * 5L|* * * * L5|* * * * 5#2|* * ? * *|* * * * ?|H * * * *|"
    "H/5 * * * *|R * * * *|"
    "20-10 * * * *|* 22-2/2 * * *|* * * 11-2 *|* * * NOV-FEB *|* * * * SAT-SUN|* * * * 5-1|* * 1,9-3 * *|"
    "* * * * Monday|* * * January *|* * * * MO|MON * * * *|* * * MON *|* * * * JAN|* * xyz * *|"
    "*/0 * * * *|5/0 * * * *|1-5/0 * * * *|*/-5 * * * *|*/1.5 * * * *|*/ * * * *|*/x * * * *|*/2/2 * * * *|"
    "/2 * * * *|-5 * * * *|5- * * * *|1-2-3 * * * *|,1 * * * *|1, * * * *|1,,2 * * * *|** * * * *|"
    "*5 * * * *|5* * * * *|"
    "1.5 * * * *|+5 * * * *|0x5 * * * *|1_0 * * * *|5;6 * * * *|*/99999999999999999999 * * * *|"
    "\u0663 * * * *|\uff15 * * * *|\u00b2 * * * *|*\u00a0* * * *|*\n* * * *|* * * * *\n|* * * * *\x00|"
    "@reboot|@every 5m|@|@fortnightly|@daily UTC|TZ=UTC * * * * *|CRON_TZ=UTC * * * * *|0 3 * * * root"
)


@pytest.mark.parametrize("expression", [*REFUSED.split("|"), "1," * 100_000, "9" * 100_000, None, 5, True, ["*"], b"*"])
def test_what_is_no_crontab_is_refused(expression):
    with pytest.raises(InvalidError, match=r"^cron .*: (write minute hour day month weekday|.* goes down)"):
        crontab(expression)


def test_an_expression_of_more_than_a_thousand_characters_is_refused():
    expression = ",".join(["7"] * 496) + " * * * *"

    assert fields(expression + " ") == {"minutes": (7,)}
    with pytest.raises(InvalidError, match="write minute hour day month weekday"):
        crontab(expression + "  ")


@pytest.mark.parametrize("expression", ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 30-31 FEB *", "0 0 31 2,4 *"])
def test_an_expression_that_never_comes_is_refused(expression):
    with pytest.raises(InvalidError, match="never comes"):
        crontab(expression)


@pytest.mark.parametrize("expression", ["0 0 29 2 *", "0 0 30 2,3 *", "0 0 30 2 MON", "0 0 30 2 */1", "0 0 */30 2 *"])
def test_an_expression_that_comes_seldom_is_taken(expression):
    assert crontab(expression).first(0) is not None


@pytest.mark.parametrize(
    ("expression", "since", "first"),
    [
        ("* * * * *", (2026, 1, 1, 10, 30), (2026, 1, 1, 10, 30)),
        ("15 * * * *", (2026, 1, 1, 10, 16), (2026, 1, 1, 11, 15)),
        ("15 9 * * *", (2026, 1, 1, 9, 16), (2026, 1, 2, 9, 15)),
        ("15,45 9,11 * * *", (2026, 1, 1, 9, 46), (2026, 1, 1, 11, 15)),
        ("0 0 31 * *", (2026, 1, 31, 0, 1), (2026, 3, 31)),
        ("0 0 1 1 *", (2026, 1, 1, 0, 1), (2027, 1, 1)),
        ("0 0 29 2 *", (1896, 3, 1), (1904, 2, 29)),
        ("0 0 * * MON", (2026, 1, 1), (2026, 1, 5)),
        ("0 0 13 * FRI", (2026, 1, 3), (2026, 1, 9)),
        ("0 0 13 * FRI", (2026, 1, 10), (2026, 1, 13)),
        ("0 0 */31 * MON", (2026, 1, 2), (2026, 1, 5)),
        ("0 0 15 * */6", (2026, 1, 2), (2026, 1, 3)),
        ("59 23 31 12 *", (9999, 12, 31, 23, 59), (9999, 12, 31, 23, 59)),
    ],
)
def test_the_first_time_is_found_from_any_minute(expression, since, first):
    assert crontab(expression).first(minute(*since)) == minute(*first)


def test_nothing_comes_past_the_calendar():
    assert crontab("0 0 1 1 *").first(minute(9999, 1, 2)) is None
    assert crontab("* * * * *").first(minute(9999, 12, 31, 23, 59) + 1) is None


def test_a_time_before_the_calendar_has_its_first_time_in_the_year_1():
    assert crontab("0 12 * * *").first(minute(1, 1, 1) - 600) == minute(1, 1, 1, 12)


def test_a_tidy_expression_is_as_written_with_single_spaces():
    assert tidy(" 5\t4  * * Mon ") == "5 4 * * Mon"


@given(st.text(alphabet="0123456789*/-,LW#?HRsunmojaf@ ", max_size=30))
def test_what_croniter_refuses_is_refused_here(text):
    try:
        croniter.expand(text)
    except ValueError:
        with pytest.raises(InvalidError):
            crontab(text)


@given(st.text())
def test_no_text_raises_anything_but_our_own_error(text):
    try:
        crontab(text)
    except InvalidError as error:
        assert str(error).startswith("cron ")  # noqa: PT017 - most texts are refused, and not all
