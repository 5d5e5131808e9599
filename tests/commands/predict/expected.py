"""expected.py - the size at another number, by the rules of fragsim-predict(1), in fractions."""
from fractions import Fraction
from math import ceil


def lagrange(points: list[tuple[int, int]], x: int) -> Fraction:
    total = Fraction(0)
    for i, (xi, yi) in enumerate(points):
        term = Fraction(yi)
        for k, (xk, _) in enumerate(points):
            if k != i:
                term *= Fraction(x - xk, xi - xk)
        total += term
    return total


def slope_at_first(points: list[tuple[int, int]]) -> Fraction:
    """Of the parabola through three: from its coefficients, which three values give."""
    x0 = points[0][0]
    f = [lagrange(points, x0 + i) for i in range(3)]
    a = (f[2] - 2 * f[1] + f[0]) / 2
    return f[1] - f[0] - a


def bends_up(points: list[tuple[int, int]]) -> bool:
    f = [lagrange(points, i) for i in range(3)]
    return f[2] - 2 * f[1] + f[0] > 0


def is_square(points: list[tuple[int, int]]) -> bool:
    """Both have the same multiple of the square of their number."""
    (a, s), (b, t) = points
    return a > 0 and s > 0 and Fraction(s, a * a) == Fraction(t, b * b)


def growth(points: list[tuple[int, int]]) -> str:
    """points: rising."""
    ys = [y for _, y in points]
    if len(set(ys)) == 1:
        return 'constant'
    if len(points) == 2 and is_square(points):
        return 'quadratic'
    if len(points) == 2 or lagrange(points[:2], points[2][0]) == ys[2]:
        return 'linear' if ys[1] > ys[0] else 'other'
    return 'quadratic' if bends_up(points) and slope_at_first(points) >= 0 else 'other'


def size_at(points: list[tuple[int, int]], x: int) -> tuple[int, bool]:
    """The size, and is it explained?"""
    points = sorted(points)
    kind = growth(points)
    if kind == 'constant':
        return points[0][1], True
    if kind == 'other':
        pair = points[-2:] if x > points[-2][0] else points[:2]
        value = max(0, ceil(lagrange(pair, x)))
        if x > points[-1][0]:
            value = max(value, points[-1][1])
        return value, x in [p for p, _ in points]
    value = lagrange(points, x)
    if kind == 'quadratic' and len(points) == 2:
        value = Fraction(points[1][1] * x * x, points[1][0] ** 2)
    return max(0, ceil(value)), value >= 0 and value.denominator == 1
