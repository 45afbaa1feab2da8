# SPDX-License-Identifier: Apache-2.0
"""``epimeter gate``: predictions held against the policy in epimeter.toml."""

from __future__ import annotations

import os

import click

from epimeter.cli.outputs import asked_form, in_a_folder, refuse_overwriting, write


@click.command()
@click.argument("policy", default="epimeter.toml", type=click.Path(dir_okay=False))
@click.option("--only", multiple=True, metavar="NAME", help="Only these gates of the policy.")
@click.option("--check", is_flag=True, help="Only read the policy: is it well-formed? No data are opened.")
@click.option("--junit", type=click.Path(dir_okay=False), help="Write JUnit XML here.")
@click.option("--sarif", type=click.Path(dir_okay=False), help="Write SARIF here, pointing at the policy's lines.")
@click.option("--shields", type=click.Path(dir_okay=False), help="Write the endpoint JSON of a shields badge here.")
@click.option("--json", "as_json", is_flag=True, help="Print all verdicts as JSON.")
@click.option(
    "--output", "-o", type=click.Path(dir_okay=False), help="Write to this file instead: .json, .md, .html, …"
)
def gate(
    policy: str,
    only: tuple[str, ...],
    check: bool,
    junit: str | None,
    sarif: str | None,
    shields: str | None,
    as_json: bool,
    output: str | None,
) -> None:
    """Hold predictions against a POLICY (epimeter.toml unless named). Exit 0: pass, 1: fail, 2: cannot judge.

    Under GitHub Actions the verdicts are also written to the step summary and as annotations of the policy.

    \b
    epimeter gate
    epimeter gate --junit gate.xml --sarif gate.sarif -o gate.md
    epimeter gate --check                 for a pre-commit hook
    """
    from epimeter.gate import judge, read_policy
    from epimeter.gate.formats import badge, remarks
    from epimeter.gate.formats import junit as junit_xml
    from epimeter.gate.formats import sarif as sarif_json
    from epimeter.gate.judging import files_of

    form = asked_form(output, as_json, without=("png", "svg"))
    written = {"--output": output, "--junit": junit, "--sarif": sarif, "--shields": shields}
    owner: dict[str, str] = {}
    for option, path in written.items():
        in_a_folder(path, option)
        refuse_overwriting(path, policy, option=option)
        first = option if path is None else owner.setdefault(os.path.realpath(path), option)
        if first != option:
            raise click.UsageError(f"every form must have a file of its own; {first} and {option} both name {path}")
    gates = read_policy(policy)
    strange = [name for name in only if name not in [one.name for one in gates]]
    if strange:
        raise click.UsageError(
            f"{policy} has no gate {strange[0]!r}; its gates are {', '.join(one.name for one in gates)}"
        )
    gates = [one for one in gates if not only or one.name in only]
    if check:
        number = sum(len(one.requirements) for one in gates)
        click.echo(f"{policy}: {len(gates)} gates, {number} requirements")
        return
    for option, path in written.items():
        refuse_overwriting(path, *(file for one in gates for file in files_of(one)), option=option)
    found = judge(gates)
    write(found.rendered(form), output)
    for path, text in ((junit, junit_xml), (sarif, sarif_json), (shields, badge)):
        if path is not None:
            write(text(found), path)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in remarks(found):
            click.echo(line, err=form == "json" and output is None)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with open(summary, "a", encoding="utf-8") as file:  # others write there too
            file.write(found.to_markdown() + "\n")
    click.echo(found.sentence, err=True)
    raise click.exceptions.Exit(found.code)
