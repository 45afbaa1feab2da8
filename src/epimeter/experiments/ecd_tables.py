# SPDX-License-Identifier: Apache-2.0
"""The results of the ECD experiments as rows, as Markdown tables and as sentences with counts."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Mapping
from typing import Any

from epimeter.experiments.ecd import CLIP, DATA, MAPS, MEASURES, TITLES

Results = Mapping[str, Mapping[str, Any]]
COLUMNS = ("data", "model", "seed", "map", "n_rows", "accuracy", "measure", "value", "threshold", "p_value", "refuted")


def rows(results: Results) -> list[dict[str, Any]]:
    """One row a cell and measure; an infinite value is the word."""
    made = []
    for key, result in results.items():
        data, model, seed, map_name = key.split("/")
        for measure, test in result.items():
            if isinstance(test, dict):
                value = "infinite" if test["value"] is None else test["value"]
                threshold = "infinite" if test["threshold"] is None else test["threshold"]
                cells = (
                    data,
                    model,
                    int(seed),
                    map_name,
                    result["n_rows"],
                    result["accuracy"],
                    measure,
                    value,
                    threshold,
                )
                made.append(dict(zip(COLUMNS, (*cells, test["p_value"], test["reject"]), strict=True)))
    return made


def as_csv(results: Results) -> str:
    """The rows as a file."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows(results))
    return stream.getvalue()


def table(results: Results, data: str) -> list[str]:
    """A data set as a table: mean and spread of each measure over the seeds, and how often calibration was refuted."""
    lines = [
        "| model | map | accuracy | " + " | ".join(MEASURES.values()) + " |",
        "|---|---|---|" + "---|" * len(MEASURES),
    ]
    for model in DATA[data]:
        for map_name in MAPS:
            found = [result for key, result in results.items() if _is(key, data, model, map_name)]
            if found:
                accuracy = statistics.mean(result["accuracy"] for result in found)
                cells = [_cell([result[name] for result in found], name) for name in MEASURES]
                lines.append(f"| {TITLES[model]} | {map_name} | {accuracy:.3f} | " + " | ".join(cells) + " |")
    return lines


def _is(key: str, data: str, model: str, map_name: str) -> bool:
    named = key.split("/")
    return (named[0], named[1], named[3]) == (data, model, map_name)


def _cell(tests: list[Mapping[str, Any]], name: str) -> str:
    refuted = f"{sum(test['reject'] for test in tests)}/{len(tests)}"
    finite = [test["value"] for test in tests if test["value"] is not None]
    infinite = len(tests) - len(finite)
    if not finite:
        return f"infinite; {refuted}"
    spread = f" ± {statistics.stdev(finite):.4f}" if len(finite) > 1 else ""
    more = f", {infinite} infinite" if infinite else ""
    return f"{statistics.mean(finite):.4f}{spread}{more}; {refuted}"


def counts(results: Results) -> dict[str, dict[str, tuple[int, int]]]:
    """How many cells each measure refuted, of how many, by map."""
    made: dict[str, dict[str, tuple[int, int]]] = {}
    for map_name in MAPS:
        found = [result for key, result in results.items() if key.endswith(f"/{map_name}")]
        made[map_name] = {name: (sum(result[name]["reject"] for result in found), len(found)) for name in MEASURES}
    return made


def contrasts(results: Results) -> list[str]:
    """Cells in which ECD accepts what ECE with 15 bins refutes."""
    return [key for key, result in results.items() if result["ece"]["reject"] and not result["ecd"]["reject"]]


def summary(results: Results) -> str:
    """What the terminal shows: refuted cells by map and measure."""
    lines = [f"{'map':<12}" + "".join(f"{title:>20}" for title in MEASURES.values())]
    for map_name, found in counts(results).items():
        lines.append(f"{map_name:<12}" + "".join(f"{f'{k} of {n}':>20}" for k, n in found.values()))
    apart = contrasts(results)
    infinite = sum(result["ecd"]["value"] is None for result in results.values())
    lines += [
        "",
        f"calibration refuted at 5 %, of cells; ECD accepts what ECE (15 bins) refutes in {len(apart)} of {len(results)} cells;",
        f"ECD is infinite in {infinite} cells (a certain forecast that was wrong), finite with eps = {CLIP:g}",
    ]
    return "\n".join(lines)


def markdown(results: Results, *, seeds: int, draws: int) -> str:
    """All tables."""
    lines = [
        f"Each cell: mean ± standard deviation over {seeds} seeds; in how many of them calibration was refuted at 5 % ({draws} "
        "draws of labels from the forecasts, which are kept). Adaptive bins: the scale with the smallest p-value, "
        "Bonferroni over the scales.",
        "",
        "Cells refuted, of all data sets and models:",
        "",
        "| map | " + " | ".join(MEASURES.values()) + " |",
        "|---|" + "---|" * len(MEASURES),
    ]
    lines += [
        f"| {name} | " + " | ".join(f"{k} of {n}" for k, n in found.values()) + " |"
        for name, found in counts(results).items()
    ]
    for data in DATA:
        if any(key.startswith(f"{data}/") for key in results):
            lines += ["", f"### {TITLES[data]}", "", *table(results, data)]
    return "\n".join(lines) + "\n"
