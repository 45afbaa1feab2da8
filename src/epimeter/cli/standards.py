# SPDX-License-Identifier: Apache-2.0
"""The options by which a command evaluates after the ONTO standards, and what they lead to."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from epimeter.cli.certainty import Certainty, refuse_idle
from epimeter.errors import InputError
from epimeter.readers.forecast import Choice

if TYPE_CHECKING:
    from epimeter.report.measurement import Report
    from epimeter.standards.evaluated import StandardsEvaluation
    from epimeter.standards.records import Records
    from epimeter.standards.replicates import Wanted

F = TypeVar("F", bound=Callable[..., Any])

OPTIONS = (
    click.option("--standard", type=click.Choice(["ers", "42001", "both"]), help="Evaluate after ONTO-ERS, ONTO 42001."),
    click.option("--domain", help="medical, legal, financial, code, general; by default what the file says, else general."),
    click.option("--onto-domain", help="Domain of ONTO 42001, where it is not the converted one."),
    click.option("--unknown-threshold", type=float, default=0.5, show_default=True,
                 help="An input counts as detected below this confidence (42001); a column `detected` overrules it."),
    click.option("--ers-threshold", type=float, default=0.7, show_default=True, help="Threshold of ONTO-ERS's U-Recall."),
    click.option("--strategy", default="equal_width", show_default=True, help="equal_width, equal_mass or adaptive."),
    click.option("--weights", metavar="W1,W2,W3", help="Weights of ORS; need --weights-reason."),
    click.option("--weights-reason", default="", help="Why the weights were changed (42001-A.5.3-a)."),
    click.option("--baseline", type=click.Path(dir_okay=False), help="JSON of this system's last evaluation or passport."),
    click.option("--new-baseline", default="", metavar="REASON", help="Start a new baseline, with another method."),
    click.option("--declare", type=click.Path(dir_okay=False), help="TOML file of what numbers cannot say."),
    click.option("--organization", default="", help="Who answers for the system."),
    click.option("--system", default="", help="The system's id."),
    click.option("--model-version", default="", help="The version that was measured."),
    click.option("--taxonomy", default="", help="Kinds of unknowns: distribution, epistemic, operational."),
    click.option("--date", help="Day of the evaluation; today in UTC unless given."),
    click.option("--assume-utc", is_flag=True, help="Times without a zone are UTC."),
    click.option("--interval", "interval", default="auto", show_default=True,
                 type=click.Choice(["auto", "bootstrap", "asymptotic", "none"]), help="How intervals are found."),
    click.option("--level", type=click.FloatRange(0.5, 0.999), default=0.95, show_default=True,
                 help="Nominal coverage of the intervals."),
    click.option("--draws", type=int, default=1000, show_default=True, help="Replicates of the bootstrap."),
    click.option("--seed", type=int, default=0, show_default=True, help="Seed of the bootstrap."),
)  # fmt: skip


EVERYWHERE = ("interval", "level", "draws", "seed")
"""Options that an evaluation without a standard has too."""


def refuse_without_standard(context: click.Context) -> None:
    """Refuse options of the standards where none is asked for: they would change nothing."""
    names = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    for name in Given.__dataclass_fields__:
        if name in ("standard", "bins", *EVERYWHERE):
            continue
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{names[name]} goes with --standard; without one it would change nothing")


def standard_options(command: F) -> F:
    """A command with all the options of the standards; they arrive as the keyword arguments of `Given`."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True)
class Given:
    """The options as typed."""

    standard: str
    domain: str | None
    onto_domain: str | None
    unknown_threshold: float
    ers_threshold: float
    strategy: str
    weights: str | None
    weights_reason: str
    baseline: str | None
    new_baseline: str
    declare: str | None
    organization: str
    system: str
    model_version: str
    taxonomy: str
    date: str | None
    assume_utc: bool
    interval: Wanted
    level: float
    draws: int
    seed: int
    bins: int | None = None
    passport: bool = False


@dataclass(frozen=True)
class Evaluated:
    """What the commands render: the evaluation after the standards, the metrics, and the records behind both."""

    standards: StandardsEvaluation
    report: Report
    records: Records


def evaluated(
    file: str | list[str], choice: Choice, format: str | None, given: Given, metrics: Any = None, choices: Any = None
) -> Evaluated:
    """Read a file and evaluate it after the standards, and by the catalogue's metrics."""
    from epimeter.cli.judging import read_table
    from epimeter.cli.measured import measured_table, placed
    from epimeter.standards.evaluation import evaluate_standards
    from epimeter.standards.method import domain_of
    from epimeter.standards.records import records_of

    for option, value in (("--onto-domain", given.onto_domain), ("--new-baseline", given.new_baseline)):
        if given.standard == "ers" and value:
            raise click.UsageError(f"{option} is for ONTO 42001; with --standard ers it would change nothing")
    refuse_idle(click.get_current_context(), given.interval, ("auto", "bootstrap"))
    now = datetime.datetime.now(datetime.UTC)
    declared = _declaration(given)
    baseline = None if given.baseline is None else _json(given.baseline, "baseline")
    table = read_table(file, choice, format)
    if given.standard in ("42001", "both") and table.unknown is None:
        raise InputError(
            f"unknown must be given for every record, 0 or 1, to evaluate by ONTO 42001 (42001-6.1-a); {table.source} has "
            "no such column. Name it with --column unknown=NAME, or use --standard ers",
            field="unknown",
        )
    with placed(table):
        records = records_of(table, now=now, assume_utc=given.assume_utc)
    made = evaluate_standards(
        records,
        standard=given.standard,  # type: ignore[arg-type]
        domain=domain_of(given.domain, table),
        onto_domain=given.onto_domain,
        date=given.date or now.date(),
        declaration=declared,
        ers_bins=given.bins or 10,
        ers_threshold=given.ers_threshold,
        strategy=given.strategy,
        bins=given.bins,
        unknown_threshold=given.unknown_threshold,
        weights=None if given.weights is None else weights_of(given.weights),
        weights_reason=given.weights_reason,
        baseline=baseline,
        new_baseline=given.new_baseline,
        passport=given.passport,
        interval=given.interval,
        level=given.level,
        draws=given.draws,
        seed=given.seed,
        source=table.described(),
    )
    certainty = Certainty(given.interval, given.level, given.draws, given.seed)
    return Evaluated(made, measured_table(table, metrics, choices or {}, certainty), records)


def rendered(found: Evaluated, form: str, *, measured: bool = False) -> str | bytes:
    """The evaluation in the form asked for; CSV and figures are those of the measurements.

    Text has the measurements where somebody asked for some (`measured`), all other forms always.
    """
    if form == "json":
        whole = found.standards.to_dict() | {"report": found.report.to_dict()}
        return json.dumps(whole, indent=2, allow_nan=False) + "\n"
    from epimeter.report.curves import curves
    from epimeter.report.pages import pictures
    from epimeter.standards.pages import standards_document, whole_document

    if form == "text":
        from epimeter.documents.terminal import terminal

        told = terminal(standards_document(found.standards))
        return f"{told}\n{found.report.rendered(form)!s}" if measured else told
    drawn = pictures(curves(found.records.answer), for_print=form == "pdf")
    pages = whole_document(found.standards, found.report, drawn)
    if form == "markdown":
        from epimeter.documents.markdown import markdown

        return markdown(pages)
    if form == "latex":
        from epimeter.documents.latex import latex

        return latex(pages)
    if form == "pdf":
        from epimeter.documents.paper import pdf

        return pdf(pages)
    if form in ("csv", "png", "svg"):
        return found.report.rendered(form)
    from epimeter.documents.html import html

    return html(pages, footer=f"Made by epimeter {found.report.version}. It measures; it changes no model.")


def _declaration(given: Given) -> Any:
    from epimeter.standards.declaration import Declaration, printable, read_declaration
    from epimeter.standards.unknowns import taxonomy_of

    told = Declaration() if given.declare is None else read_declaration(given.declare)
    return told.updated(
        organization=printable(given.organization, "organization"),
        system_id=printable(given.system, "system"),
        model_version=printable(given.model_version, "model_version"),
        taxonomy=taxonomy_of(given.taxonomy) if given.taxonomy else (),
    )


def _json(path: str, name: str) -> Any:
    try:
        found = json.loads(Path(path).read_text("utf-8"))
    except (ValueError, UnicodeDecodeError):
        raise InputError(f"{name} must be a JSON file; {Path(path).name} is not", field=name) from None
    if not isinstance(found, dict):
        raise InputError(f"{name} must hold a JSON object; {Path(path).name} does not", field=name)
    return found


def weights_of(text: str) -> list[float]:
    """The weights of ORS that an option states."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            f"weights must be three numbers, as 0.35,0.45,0.20 (42001-A.5.3-a); got {text!r:.40}", field="weights"
        ) from None
