# SPDX-License-Identifier: Apache-2.0
"""The whole-number totals of the default report as a query, for rows that stay in a warehouse.

Each row goes through the additions, multiplications and divisions that the loops of the core do, in their order; the standard of
floating-point numbers (IEEE 754) fixes every bit of these, so a database gets the integers that the core gets. Adding 384 and
taking it off again rounds to steps of 2^-44 (`core/steps.h`), and the logarithm is that of `summaries/logarithm.py`, its exponent
found by halving. Rows at 0 and 1, and those so near to 0 or to a half that they add tiny numbers, are told one confidence a line:
the core adds them up when the result is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from epimeter.errors import InputError

VERSION = "1"
USUAL, TOLD, UNLABELLED, UNSOUND = range(4)
"""What a line of the result is about: rows that were summed; rows of one confidence; rows left out; rows that are no forecasts."""
BINS, MOMENT_BINS = 10, 15
MOMENTS = ("p", "uu", "v", "v2", "v3", "t", "t2")
PLAIN = {"square": "square", "prob": "p", "excess": "excess", "null_variance": "null_variance"}
LOGARITHMIC = {"log_loss": "loss", "entropic": "entropic", "entropic_variance": "variance"}
POWERS = (
    "square_2", "square_3", "loss_2", "loss_3", "entropic_2", "entropic_3", None, None,
    "ev", "vv", "eev", "evv", "vvv", None, None,
)  # fmt: skip
"""The sums of products in the order of the core; None where the default report reads none."""
SUMS = tuple(
    dict.fromkeys(name for name in (*MOMENTS, *PLAIN.values(), *LOGARITHMIC.values(), *POWERS) if name is not None)
)
ROOT = 0.7071067811865476
SERIES = (
    0.14795632832766475, 0.15314084877008638, 0.18183562850431262, 0.22222198605063118, 0.2857142874202815,
    0.3999999999941664, 0.6666666666666734,
)  # fmt: skip
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10


@dataclass(frozen=True)
class Dialect:
    """How a database spells what differs between them: types, the quotes of a name, what keeps a step from being folded, and what
    makes a name mean the column where a result is called the same.
    """

    double: str
    integer: str
    wide: str
    text: str
    quote: str = '"'
    fence: str = ""
    last: str = ""


DIALECTS = {
    "duckdb": Dialect("DOUBLE", "BIGINT", "HUGEINT", "VARCHAR"),
    "postgres": Dialect("DOUBLE PRECISION", "BIGINT", "NUMERIC", "TEXT", fence=" OFFSET 0"),
    "bigquery": Dialect("FLOAT64", "INT64", "BIGNUMERIC", "STRING", quote="`"),
    "snowflake": Dialect("DOUBLE", "NUMBER(38, 0)", "NUMBER(38, 0)", "VARCHAR"),
    "clickhouse": Dialect(
        "Nullable(Float64)",
        "Nullable(Int64)",
        "Nullable(Int128)",
        "Nullable(String)",
        quote="`",
        last="\nSETTINGS prefer_column_name_to_alias = 1",
    ),
}


def query(
    dialect: str, table: str, *, confidence: str, outcome: str, kind: str = "event", by: str | None = None
) -> str:
    """The query.

    Parameters
    ----------
    dialect
        One of `DIALECTS`.
    table
        A table as the database names it, or a query in brackets.
    confidence, outcome, by
        Names of columns: what was stated, what came true (0 or 1, true or false), and the slices.
    kind
        ``event`` or ``answer``.
    """
    known = DIALECTS.get(dialect)
    if known is None:
        raise InputError(f"dialect must be one of {', '.join(DIALECTS)}; got {dialect!r:.40}", field="dialect")
    if kind not in ("event", "answer"):
        raise InputError(f"sums are of events or answers; got kind {kind!r:.40}", field="kind")
    for name, value in (("table", table), ("confidence", confidence), ("outcome", outcome), ("by", by)):
        if value is not None and (not value.strip() or ";" in value):
            raise InputError(f"{name} must be a name without semicolons; got {value!r:.40}", field=name)
    steps = list(_steps(known, _quoted(known, confidence), _quoted(known, outcome), by and _quoted(known, by)))
    inner = f"(SELECT {steps[0]} FROM {table}{known.fence}) s0"
    for place, step in enumerate(steps[1:], start=1):
        inner = f"(SELECT s{place - 1}.*, {step} FROM {inner}{known.fence}) s{place}"
    slices = [f"CAST(slice AS {known.text}) AS slice", f"'{_escaped(by)}' AS slice_of"] if by is not None else []
    group = ["state", "y", "bin_10", "bin_15", "told", *(["slice"] if by is not None else [])]
    parts = [
        f"'{VERSION} {kind}' AS epimeter_sums",
        *slices,
        *group[:4],
        f"CAST(told AS {known.text}) AS confidence",
        "COUNT(*) AS row_count",
        f"CAST(MIN(p) AS {known.text}) AS low",
        f"CAST(MAX(p) AS {known.text}) AS high",
    ]
    for name in SUMS:
        for part in (name, f"{name}_rest"):
            parts.append(f"CAST(SUM(CAST(i_{part} AS {known.wide})) AS {known.text}) AS {part}")
    lines = ",\n  ".join(parts)
    return f"SELECT\n  {lines}\nFROM {inner}\nGROUP BY {', '.join(group)}{known.last}"


def _quoted(dialect: Dialect, name: str) -> str:
    if dialect.quote in name:
        raise InputError(f"the name of a column must be free of {dialect.quote}; got {name!r:.40}")
    return f"{dialect.quote}{name}{dialect.quote}"


def _escaped(name: str) -> str:
    return name.replace("\\", "").replace("'", "''")


def _number(value: float) -> str:
    """A literal that every dialect reads as a double."""
    shown = repr(float(value))
    return shown if "e" in shown else f"{shown}e0"


def _steps(dialect: Dialect, confidence: str, outcome: str, by: str | None) -> Iterator[str]:
    """What each layer of the query adds to the one before."""
    n, one, half = _number, _number(1), _number(0.5)
    word = f"LOWER(CAST({outcome} AS {dialect.text}))"
    yes, no = "('1', '1.0', 'true', 't')", "('0', '0.0', 'false', 'f')"
    yield ", ".join(
        [
            f"CAST({confidence} AS {dialect.double}) AS p",
            f"CASE WHEN {word} IN {yes} THEN 1 WHEN {word} IN {no} THEN 0 END AS y",
            f"CASE WHEN {outcome} IS NULL THEN 1 ELSE 0 END AS missing",
            *([f"{by} AS slice"] if by is not None else []),
        ]
    )
    near = f"(p > 0 AND p < {n(2.0**-50)}) OR (p <> {half} AND ABS(p - {half}) < {n(2.0**-28)})"
    yield (
        f"CASE WHEN missing = 1 THEN {UNLABELLED} WHEN y IS NULL OR p IS NULL OR NOT (p >= 0 AND p <= 1) THEN {UNSOUND} "
        f"WHEN p = 0 OR p = 1 OR {near} THEN {TOLD} ELSE {USUAL} END AS state"
    )
    yield (
        f"CASE WHEN state = {TOLD} THEN p END AS told, CASE WHEN state IN ({USUAL}, {TOLD}) THEN p ELSE {half} END AS said, "
        f"CASE WHEN state = {USUAL} THEN p ELSE {half} END AS x, CASE WHEN y = 1 THEN {one} ELSE {n(0)} END AS c"
    )
    yield ", ".join(
        [f"{one} - x AS q"]
        + [
            f"CASE WHEN state = {USUAL} THEN CAST(FLOOR(CASE WHEN x * {n(bins)} < {n(bins - 1)} THEN x * {n(bins)} "
            f"ELSE {n(bins - 1)} END) AS {dialect.integer}) END AS bin_{bins}"
            for bins in (BINS, MOMENT_BINS)
        ]
    )
    # x = m 2^k with sqrt(1/2) <= m < sqrt(2), for x and for q = 1 - x, which are at least 2^-53.
    for place, width in enumerate((32, 16, 8, 4, 2, 1)):
        found = []
        for name in "xq":
            m, k = (name, n(0)) if not place else (f"m{name}{place - 1}", f"k{name}{place - 1}")
            low = f"{m} < {n(ROOT * 2.0 ** (1 - width))}"
            found.append(f"CASE WHEN {low} THEN {m} * {n(2.0**width)} ELSE {m} END AS m{name}{place}")
            found.append(f"CASE WHEN {low} THEN {k} - {n(width)} ELSE {k} END AS k{name}{place}")
        yield ", ".join(found)
    yield ", ".join(f"m{name}5 - {one} AS f{name}" for name in "xq")
    yield ", ".join(f"f{name} / ({n(2)} + f{name}) AS s{name}" for name in "xq")
    yield ", ".join(f"s{name} * s{name} AS z{name}" for name in "xq")
    series = {}
    for name in "xq":
        series[name] = n(SERIES[0])
        for coefficient in SERIES[1:]:
            series[name] = f"({series[name]} * z{name} + {n(coefficient)})"
    yield ", ".join(f"{series[name]} AS w{name}" for name in "xq")
    yield ", ".join(
        f"k{name}5 * {n(LN2_HIGH)} + ({n(2)} * s{name} + (s{name} * (z{name} * w{name}) + k{name}5 * {n(LN2_LOW)})) AS l{name}"
        for name in "xq"
    )
    yield f"-(CASE WHEN c = {one} THEN lx ELSE lq END) AS loss, q * lq + x * lx AS mean_log, c - x AS u, x - c AS e"
    yield (
        f"mean_log + loss AS entropic, mean_log - lq AS from_q, mean_log - lx AS from_x, (c - u) - x AS lost, u * u AS uu, "
        f"{n(2)} * (e * e) AS square, x * q AS v, {one} - {n(2)} * x AS slope, u * {n(134217729)} AS spread"
    )
    yield (
        "q * (from_q * from_q) + x * (from_x * from_x) AS variance, v * v AS v2, v * slope AS t, u * slope AS excess, "
        "slope * slope * x * q AS null_variance, spread - (spread - u) AS high_part, "
        "square * square AS square_2, (square * square) * square AS square_3, "
        f"(loss * loss) * {n(2.0**-5)} AS loss_2, ((loss * loss) * loss) * {n(2.0**-10)} AS loss_3, "
        f"(entropic * entropic) * {n(2.0**-5)} AS entropic_2, ((entropic * entropic) * entropic) * {n(2.0**-10)} AS entropic_3"
    )
    yield ("v * v2 AS v3, t * t AS t2, u - high_part AS low_part, entropic * variance AS ev, variance * variance AS vv")
    yield (
        f"((high_part * high_part - uu) + {n(2)} * (high_part * low_part)) + low_part * low_part AS uu_error, "
        f"(entropic * ev) * {n(0.0625)} AS eev, entropic * vv AS evv, variance * vv AS vvv"
    )
    step, unit = n(384), n(2.0**44)
    values = {name: name for name in SUMS} | {"p": "said"}
    yield ", ".join(f"({value} + {step}) - {step} AS r_{name}" for name, value in values.items())
    rests = {name: f"({value} - r_{name}) * {unit}" for name, value in values.items()}
    rests["uu"] += f" + (uu_error + {n(2)} * u * lost) * {unit}"
    yield ", ".join(f"{rest} AS d_{name}" for name, rest in rests.items())
    whole: list[str] = []
    for name in SUMS:
        whole.append(f"CAST(r_{name} * {unit} AS {dialect.integer}) AS i_{name}")
        whole.append(f"CAST(((d_{name} + {step}) - {step}) * {unit} AS {dialect.integer}) AS i_{name}_rest")
    yield ", ".join(whole)
