"""Numbers in sentences."""

from decimal import ROUND_CEILING, Decimal


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, which has an s unless there is one of it."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def out_of_a_hundred(share: float) -> str:
    """Return a bound on a probability as people say it, to two digits and rounded up.

    Examples
    --------
    >>> from steadyset._base.words import out_of_a_hundred
    >>> [out_of_a_hundred(share) for share in (0.05, 0.0467, 0.28, 0.00034, 0.0)]
    ['5 in 100', '4.7 in 100', '28 in 100', '0.034 in 100', '0 in 100']
    """
    number = Decimal(repr(share)) * 100
    if number:
        number = number.quantize(Decimal(1).scaleb(min(number.adjusted() - 1, 0)), ROUND_CEILING)
    text = f"{number:f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} in 100"
