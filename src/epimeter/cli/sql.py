# SPDX-License-Identifier: Apache-2.0
"""``epimeter sql --dialect duckdb``: a query that sums where the rows are."""

from __future__ import annotations

import click

DIALECTS = ("duckdb", "postgres", "bigquery", "snowflake", "clickhouse")


@click.command()
@click.option("--dialect", required=True, type=click.Choice(DIALECTS), help="Whose SQL.")
@click.option("--table", default="predictions", show_default=True, help="A table, or a query in brackets with a name.")
@click.option("--confidence", default="confidence", show_default=True, help="The column of what was stated.")
@click.option("--outcome", default="outcome", show_default=True, help="The column of what came true: 0 or 1.")
@click.option("--kind", type=click.Choice(["event", "answer"]), default="event", show_default=True,
              help="The probability of an event, or the confidence in an answer beside right or wrong.")  # fmt: skip
@click.option("--by", help="A column: one report for each of its values.")
def sql(dialect: str, table: str, confidence: str, outcome: str, kind: str, by: str | None) -> None:
    """Print a query that gives the totals of the default report; the rows stay in the database.

    \b
    epimeter sql --dialect duckdb --table "'day.parquet'" > sums.sql
    duckdb -csv < sums.sql > sums.csv
    psql --csv -f sums.sql > sums.csv
    epimeter report --from-sums sums.csv

    The report has the bits of one made from the rows. Export all columns as they are: most are whole numbers, as text.
    """
    from epimeter.sources.sums_query import query

    click.echo(query(dialect, table, confidence=confidence, outcome=outcome, kind=kind, by=by) + ";")
