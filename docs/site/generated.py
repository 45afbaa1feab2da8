# SPDX-License-Identifier: Apache-2.0
"""Pages that are made from the program itself: the command line and the service."""

from __future__ import annotations

import click


def commands_page() -> str:
    """Every command with its help."""
    from epimeter.cli import COMMANDS, epimeter

    lines = [
        "# Command line",
        "",
        "What `--help` says, command by command. Exit codes: 0 done, 1 «no», 2 wrong use.",
        "",
    ]
    context = click.Context(epimeter, info_name="epimeter")
    for name in COMMANDS:
        command = epimeter.get_command(context, name)
        assert command is not None
        lines += _helped(command, click.Context(command, info_name=name, parent=context), 2)
    return "\n".join(lines)


def _helped(command: click.Command, context: click.Context, depth: int) -> list[str]:
    lines = [f"{'#' * depth} {context.command_path}", "", "```text", command.get_help(context).rstrip(), "```", ""]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                lines += _helped(inner, click.Context(inner, info_name=name, parent=context), depth + 1)
    return lines


def service_page() -> str:
    """Every endpoint of the service, from its OpenAPI document."""
    from fastapi import FastAPI

    from epimeter.service import documents
    from epimeter.service.app import AREAS

    app = FastAPI(title="epimeter")
    for area in AREAS:
        app.include_router(area.area)
    documents.install(app)
    document = app.openapi()
    lines = [
        "# Service",
        "",
        "The endpoints of the REST service; a running one describes itself at `/openapi.json`.",
        "",
    ]
    lines += ["| method | path | what it does |", "|---|---|---|"]
    for path, methods in document["paths"].items():
        for method, described in methods.items():
            says = str(described.get("summary") or "").replace("|", "\\|").replace("\n", " ")
            lines.append(f"| {method.upper()} | `{path}` | {says} |")
    return "\n".join(lines) + "\n"
