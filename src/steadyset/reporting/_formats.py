"""Numbers as the page shows them; page.js has the same formats, digit for digit."""

import math
from decimal import ROUND_HALF_UP, Decimal

DASH = "–"


def count(number: int) -> str:
    """Return a whole number with commas."""
    return f"{number:,}"


def bags(n_bags: int | None) -> str:
    """Return a number of bags; None are all there are."""
    return "infinitely many" if n_bags is None else count(n_bags)


def number(position: int) -> str:
    """Return the number of a row or a point: positions count from 0, a page and the commands from 1."""
    return count(position + 1)


def fixed(value: float, digits: int = 3) -> str:
    """Return a number with that many decimals, halves rounded up as JavaScript does; a dash for NaN."""
    if math.isnan(value):
        return DASH
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def significant(value: float, digits: int) -> str:
    """Return a number from 1e-6 to 100 with that many significant digits, without an exponent."""
    exact = Decimal(value)
    rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), ROUND_HALF_UP)
    if rounded.adjusted() > exact.adjusted():  # 0.0999 became 0.100
        rounded = exact.quantize(Decimal(1).scaleb(rounded.adjusted() - digits + 1), ROUND_HALF_UP)
    return format(rounded, "f")


def share(value: float) -> str:
    """Return a share of rows or points: four decimals, or two digits of a small one."""
    if math.isnan(value) or value == 0:
        return DASH if math.isnan(value) else "0"
    if value < 1e-6:
        return "below 0.000001"
    return fixed(value, 4) if value >= 0.001 else significant(value, 2)


def percent(value: float) -> str:
    """Return a share in percent."""
    hundredfold = 100 * value
    if hundredfold == 0:
        return "0%"
    if hundredfold < 1e-4:
        return "below 0.0001%"
    return f"{fixed(hundredfold, 1) if hundredfold >= 0.1 else significant(hundredfold, 1)}%"


def bound(value: float) -> str:
    """Return a bound on a probability to three digits; one below 1 never shows as 1."""
    if value == 0:
        return "0"
    if value < 1e-6:
        return "below 0.000001"
    text = significant(value, 3)
    return "just below 1" if value < 1 and text == "1.00" else text


def epsilon(value: float) -> str:
    """Return an epsilon as short as it can be told apart."""
    return f"{value:.6f}".rstrip("0").rstrip(".") if value < 1e6 else f"{value:g}"
