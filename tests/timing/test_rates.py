import pytest

from tinystore_django.errors import InvalidError
from tinystore_django.timing.rates import Rate, rate

S = 1_000_000
REFUSED = (
    "|30|30/|/s|30/1h30m|30/ s|30 /s| 30/s|30/s |30/s\n|1.5/s|-1/s|30/sec|30/S|30/y|\u0663/s|30/1.5s|30//s|30/s/s|1e3/s"
)


@pytest.mark.parametrize(
    ("text", "count", "span"),
    [
        ("30/s", 30, S),
        ("5/10s", 5, 10 * S),
        ("100/m", 100, 60 * S),
        ("1000/h", 1000, 3600 * S),
        ("2/d", 2, 86400 * S),
        ("1/2w", 1, 14 * 86400 * S),
        ("7/ms", 7, 1000),
        ("7/250ms", 7, 250_000),
        ("030/01s", 30, S),
    ],
)
def test_a_rate_is_a_count_and_a_span(text, count, span):
    assert rate(text) == Rate(count, span)


@pytest.mark.parametrize("text", [*REFUSED.split("|"), f"{'9' * 400}/s", 30, None, True, ("30", "s"), b"30/s"])
def test_anything_else_is_refused(text):
    with pytest.raises(InvalidError, match=r"^group_rate .*: write it as 30/s, 5/10s"):
        rate(text, "group_rate")


@pytest.mark.parametrize("text", ["0/s", "00/s", "30/0s", "0/0s"])
def test_a_count_or_a_span_of_zero_is_refused(text):
    with pytest.raises(InvalidError, match=f"^rate '{text}': write a count and a span of at least 1"):
        rate(text)


def test_a_span_longer_than_any_is_refused():
    with pytest.raises(InvalidError, match=r"^rate '9+w': too long"):
        rate(f"1/{'9' * 50}w")
