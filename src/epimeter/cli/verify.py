# SPDX-License-Identifier: Apache-2.0
"""``epimeter verify CERT``: is it authentic, is it current, is it consistent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

import click

from epimeter.cli.trusted import content_of, key_of, moment_of, trust_of, trust_options

MARKS = {True: "yes", False: "no", None: "unknown"}


@click.command()
@click.argument("certificate", type=click.Path(exists=True, dir_okay=False))
@trust_options
@click.option("--status", type=click.Path(exists=True, dir_okay=False), help="The signed status list.")
@click.option(
    "--memory",
    type=click.Path(dir_okay=False),
    help="File that remembers the newest status list seen; an older one may hide a revocation.",
)
@click.option("--at", metavar="TIME", help="The moment asked about, as 2026-11-15T06:00:00Z; by default now.")
@click.option("--report", type=click.Path(exists=True, dir_okay=False), help="A report or PDF: is it the one covered?")
@click.option("--record", type=click.Path(exists=True, dir_okay=False), help="A record made by epimeter disclose.")
@click.option(
    "--attestation", "attestations", multiple=True, type=click.Path(exists=True, dir_okay=False), help="An auditor's."
)
@click.option("--auditor-key", "auditor_keys", multiple=True, metavar="KEY", help="Key of an auditor whom you believe.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
def verify(
    certificate: str,
    keys: tuple[str, ...],
    log_keys: tuple[str, ...],
    status_keys: tuple[str, ...],
    roots: tuple[str, ...],
    fingerprint: str | None,
    status: str | None,
    memory: str | None,
    at: str | None,
    report: str | None,
    record: str | None,
    attestations: tuple[str, ...],
    auditor_keys: tuple[str, ...],
    as_json: bool,
) -> None:
    """Verify a certificate offline, with nothing but the file and keys that you have from elsewhere.

    \b
    epimeter verify cert.json --key KEY --log-key VKEY --status-key KEY --status list.json
    epimeter verify cert.json --root trust-root.json --fingerprint SHA256 --status list.json
    epimeter verify passport.pdf --root trust-root.json --fingerprint SHA256

    Exit code: 0 valid, 1 invalid, 2 malformed, 3 policy (key or log not trusted), 4 status unknown.
    """
    from epimeter.errors import TrustError, VerificationError
    from epimeter.standards.conformity import SELF_ASSESSED
    from epimeter.trust.attestation import open_attestation
    from epimeter.trust.disclosure import check_disclosure
    from epimeter.trust.passports import is_passport
    from epimeter.trust.status_memory import StatusMemory
    from epimeter.trust.verify import report_matches
    from epimeter.trust.verify import verify as judge

    if auditor_keys and not attestations:
        raise click.UsageError("--auditor-key is for an attestation; give that with --attestation FILE")
    moment = moment_of(at)
    try:
        trust = trust_of(keys, log_keys, status_keys, roots, fingerprint)
    except VerificationError as fault:
        click.echo(f"epimeter: {fault}", err=True)
        raise click.exceptions.Exit(2 if fault.code == "malformed" else 3) from None
    if is_passport(Path(certificate).read_bytes()):
        _passport(Path(certificate).read_bytes(), trust, as_json)
    listed = None if status is None else content_of(status)
    seen = StatusMemory(memory)
    verdict = judge(
        content_of(certificate), trust, at=moment, status=listed, least_status_version=seen.least_version(listed)
    )
    if listed is not None and any(step.number == 10 and step.holds is not None for step in verdict.steps):
        seen.remember(listed)
    code, more = verdict.exit_code, {}
    if verdict.certificate is not None and report is not None:
        covered = report_matches(Path(report).read_bytes(), verdict.certificate)
        more["report"] = "is the one that was signed" if covered else "is NOT covered by this certificate"
        code = code if covered else max(code, 1)
    if verdict.certificate is not None and record is not None:
        try:
            shown = check_disclosure(content_of(record), verdict.certificate)
            more["record"] = (
                f"{json.dumps(shown['id'])} is record {shown['index']} of the certified data: " + json.dumps(shown)
            )
        except VerificationError as fault:
            more["record"] = f"is NOT proven: {fault}"
            code = max(code, 1)
    proven: list[str] = []
    if verdict.certificate is not None:
        for number, file in enumerate(attestations, 1):
            try:
                trusted = {key.id: key for key in map(key_of, auditor_keys)}
                proven.append(open_attestation(content_of(file), verdict.certificate, trusted).sentence)
                more[f"attestation {number}"] = f"is good: {proven[-1]}"
            except TrustError as fault:
                more[f"attestation {number}"] = f"is NOT proven: {fault}"
                code = max(code, 1)
        level = verdict.certificate["certificate"]["level"]
        if level == "L3":
            level = f"L3 ({'attested' if proven else SELF_ASSESSED})"
        more["level"] = level
    if as_json:
        click.echo(json.dumps({**verdict.to_json(), **more}, indent=2, ensure_ascii=False))
    else:
        click.echo(f"{verdict.shown}: {verdict.sentence}")
        for name in ("authentic", "current", "consistent"):
            click.echo(f"  {name:<11} {MARKS[getattr(verdict, name)]}")
        for step in verdict.steps:
            mark = {True: "✓", False: "✗", None: "?"}[step.holds]
            click.echo(f"  {mark} {step.number:>2} {step.title}: {step.sentence}")
        level = more.pop("level", "")
        for name, sentence in more.items():
            click.echo(f"  the {name} {sentence}")
        if verdict.certificate is not None:
            _summary(verdict.certificate, level)
        click.echo("It does not prove " + ";\n  ".join(verdict.not_proven) + ".")
    raise click.exceptions.Exit(code)


def _passport(data: bytes, trust: Any, as_json: bool) -> NoReturn:
    """The verdict on a passport: who signed it, and whether a PDF's pages are its own."""
    from epimeter.errors import InputError, TrustError
    from epimeter.trust.passports import open_passport, refuse_other_pages
    from epimeter.trust.standing import shown as shown_level

    facts: dict[str, Any] = {"verdict": "VALID"}
    try:
        found = open_passport(data, trust.ring)
        told, conformance, ers = (found.document[name] for name in ("system", "conformance", "ers"))
        facts |= {
            "sentence": found.sentence,
            "pages": {True: "are those of the signed document", False: "DIFFER", None: "were not compared"}[
                found.pages
            ],
            "system": " ".join(
                str(told[name]) for name in ("organization", "system_id", "model_version") if told[name]
            ),
            "date": found.document["evaluation"]["date"],
            "level_42001": shown_level(conformance["level"], conformance["assessed"]),
            "level_ers": None if ers is None else shown_level(ers["level"], ers["assessed"]),
        }
        refuse_other_pages(found)
    except (TrustError, InputError) as fault:
        code = getattr(fault, "code", None) or "malformed"
        untrusted = code == "untrusted_key"
        facts |= {"verdict": "UNTRUSTED_KEY" if untrusted else f"INVALID({code})", "sentence": str(fault)}
    if as_json:
        click.echo(json.dumps(facts, indent=2, ensure_ascii=False))
    else:
        click.echo(f"{facts['verdict']}: {facts['sentence']}")
        for name in ("pages", "system", "date", "level_42001", "level_ers"):
            if name in facts:
                click.echo(f"  {name:<12} {facts[name]}")
    word = facts["verdict"]
    raise click.exceptions.Exit(
        0 if word == "VALID" else 3 if word == "UNTRUSTED_KEY" else 2 if "malformed" in word else 1
    )


def _summary(body, level: str) -> None:  # type: ignore[no-untyped-def]
    head, named, metrics, evidence = (body[name] for name in ("certificate", "subject", "metrics", "evidence"))
    click.echo(f"{head['id']}: ONTO-ERS {level} for {named['system_id']} {named['system_version']}")
    click.echo(f"  of {named['organization']}, domain {named['domain']}, issued by {body['issuer']['id']}")
    click.echo(
        f"  ECE {metrics['ece']}, U-Recall {metrics['u_recall']} %, ERS {metrics['ers']}, accuracy "
        f"{metrics['accuracy']}, {metrics['sample_size']:,} records, {evidence['assurance']}"
    )
    click.echo(f"  attempt {evidence['attempt']}, {_promised(body)}, conducted by: {evidence['conducted_by']}")
    near = evidence.get("similar_systems")
    if near is not None:
        from epimeter.trust.names import similar_sentence

        click.echo(f"  {similar_sentence(near['systems'], near['evaluations'])}")


def _promised(body) -> str:  # type: ignore[no-untyped-def]
    named, period = body["evidence"]["preregistration"], body["metrics"]["evaluation_period"]
    if named is None:
        return "not pre-registered"
    at = named["registered_at"]  # moments of one form are ordered as text
    when = "before" if at <= period["start"] else "during" if at <= period["end"] else "after"
    return f"pre-registered {when} the days of the data"
