"""Forecasts of a number or of a set, sent by the client, by the command and from the page: the numbers of the library."""

import csv
import io
import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from test_forecast_bodies import forecasts
from test_members_pages import BESIDE, drop, engineer, filled  # noqa: F401  (a fixture)

import epimeter
from epimeter.errors import InputError
from epimeter.readers.forecast_table import read_forecasts

KINDS = ["normal", "quantiles", "ensemble", "interval", "set", "state", "count"]


@pytest.fixture
def client(service, tenant):
    with epimeter.Client(service.url, tenant.key["key"]) as made:
        yield made


def expected(columns, **choices):
    """The values that the library has for the columns of a file."""
    table = read_forecasts(columns)
    found = epimeter.evaluate_forecasts(
        table.true, sample_weight=table.weight, groups=table.group, **table.stated, **choices
    )
    return {one.metric: one.value for one in found.measurements}


def typed(service, tenant, *words, check=True):
    command = [sys.executable, "-m", "epimeter", "submit", *map(str, words), "--server", service.url, "--model-id", "d"]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"EPIMETER_KEY": tenant.key["key"]}, timeout=120
    )
    assert "Traceback" not in done.stderr
    assert not check or done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("kind", KINDS)
def test_the_client_sends_every_kind(client, kind):
    columns = forecasts(kind)
    table, level = read_forecasts(columns), {} if kind in ("state", "count") else {"level": 0.8}
    found = client.evaluate_forecasts(table.true, model_id="d", **level, **table.stated)
    assert found.status == "completed" and found.forecasts.kind == kind
    assert found.forecasts.values == expected(columns, **level)


def test_the_client_sends_what_the_library_takes(client):
    """A mapping of quantiles, one deviation for all, a covariance, unlike kinds of numbers, a truth that nobody knows."""
    rng = np.random.default_rng(3)
    y, mean = rng.normal(size=60), np.zeros(60)
    low = {0.000025: mean - 4.0, 0.5: mean, "0.9": mean + 1.28}
    found = client.evaluate_forecasts(y, model_id="d", quantiles=low)
    mine = epimeter.evaluate_forecasts(y, quantiles={float(level): each for level, each in low.items()})
    assert found.forecasts.values == {one.metric: one.value for one in mine.measurements}
    found = client.evaluate_forecasts([*y.tolist(), None], model_id="d", mean=[*mean.tolist(), 5.0], std=1.0)
    mine = epimeter.evaluate_forecasts(y, mean=mean, std=np.ones(60))
    assert found.forecasts.sample_size == 60
    assert found.forecasts.values == {one.metric: one.value for one in mine.measurements}
    both, covariance = np.stack([y, y[::-1]], 1), np.array([[2.0, 0.5], [0.5, 1.0]])
    found = client.evaluate_forecasts(both, model_id="d", mean=np.zeros((60, 2)), variance=covariance)
    mine = epimeter.evaluate_forecasts(both, mean=np.zeros((60, 2)), variance=covariance)
    assert found.forecasts.values == {one.metric: one.value for one in mine.measurements}
    weighed = {"sample_weight": rng.uniform(1, 2, 60), "groups": np.arange(60) // 6}
    found = client.evaluate_forecasts(y, model_id="d", mean=mean, std=1.0, **weighed)
    mine = epimeter.evaluate_forecasts(y, mean=mean, std=np.ones(60), **weighed)
    assert found.forecasts.values == {one.metric: one.value for one in mine.measurements}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"mean": [1.0, 2.0], "deviation": [1.0, 1.0]}, "deviation"),
        ({"mean": [1.0], "std": 1.0}, "the same length"),
        ({"quantiles": [[1.0, 2.0], [1.0, 2.0]], "levels": [0.1]}, "one column"),
        ({"quantiles": {"low": [1.0, 2.0]}}, "levels must be numbers"),
        ({"mean": [[1.0, 2.0], [1.0, 2.0]], "std": 1.0}, "the same shape"),
    ],
)
def test_what_cannot_be_sent_is_refused_before_it_is(client, given, says):
    with pytest.raises(InputError, match=says):
        client.evaluate_forecasts([1.0, 2.0], model_id="d", **given)


def test_what_is_wrong_with_a_row_is_said_by_the_service(client):
    with pytest.raises(epimeter.EpimeterError, match="std must be above 0.*row 1"):
        client.evaluate_forecasts([1.0, 2.0], model_id="d", mean=[1.0, 2.0], std=[1.0, -1.0])
    with pytest.raises(epimeter.EpimeterError, match="crps"):
        client.evaluate_forecasts(["a", "b"], model_id="d", sets=[["a"], ["b"]], metrics=["crps"])


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_sends_every_kind(service, tenant, tmp_path, kind):
    columns = forecasts(kind) | {"region": ["n", "s"] * 150}
    file = tmp_path / "forecasts.parquet"
    pd.DataFrame(columns).to_parquet(file)
    found = json.loads(typed(service, tenant, file).stdout)
    assert found["forecasts"]["kind"] == kind and found["forecasts"]["values"] == expected(columns)


def test_the_command_takes_columns_of_other_names_a_level_and_unknown_truths(service, tenant, tmp_path):
    columns = forecasts("normal", 100)
    frame = pd.DataFrame({"seen": columns["y"], "m": columns["mean"], "s": columns["std"]})
    frame.loc[[3, 50], "seen"] = np.nan
    frame.to_csv(tmp_path / "rows.csv", index=False)
    names = [f"--column={role}={name}" for role, name in (("truth", "seen"), ("mean", "m"), ("std", "s"))]
    found = typed(service, tenant, tmp_path / "rows.csv", "--task", "distribution", *names, "--level", "0.5")
    told = json.loads(found.stdout)["forecasts"]
    known = pd.DataFrame(columns).drop([3, 50])
    assert told["level"] == 0.5 and told["sample_size"] == 98 and told["unlabelled"] == 2
    assert told["values"] == expected(known, level=0.5)


def test_the_command_refuses_what_forecasts_do_not_earn_and_rows_that_are_none(service, tenant, tmp_path):
    file = tmp_path / "forecasts.csv"
    pd.DataFrame(forecasts("interval", 30)).to_csv(file, index=False)
    for option in (["--certificate", tmp_path / "c.json"], ["--require", "L1"], ["--kind", "event"]):
        refused = typed(service, tenant, file, *option, check=False)
        assert refused.returncode == 2 and f"{option[0]} does not apply to forecasts" in refused.stderr
    file.write_text("y,q0.1,q0.9\n1,0,2\n1,3,2\n")
    refused = typed(service, tenant, file, check=False)
    assert refused.returncode == 2 and "must not cross" in refused.stderr and "line 3" in refused.stderr
    file.write_text("confidence,correct\n0.5,1\n")
    refused = typed(service, tenant, file, "--level", "0.9", check=False)
    assert refused.returncode == 2 and "--level" in refused.stderr


def as_csv(columns):
    sink = io.StringIO()
    writer = csv.writer(sink)
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow(["|".join(cell) if isinstance(cell, list) else cell for cell in row])
    return sink.getvalue().encode()


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_takes_every_kind(engineer, kind):  # noqa: F811
    columns = forecasts(kind)
    if kind == "state":  # components stand in any order; the numbers in their names count
        columns = {name: columns[name] for name in ("std_0", "mean_1", "y_1", "y_0", "mean_0", "std_1")}
        columns["y_1"] = [each + 1 for each in columns["y_1"]]
    place = drop(engineer, as_csv(columns))
    found = engineer.get(f"{place}.json").json()["found"]
    assert found["kind"] == kind and found["n_rows"] == 300 and not found["refusal"]
    level = {} if kind in ("state", "count") else {"level": 0.8}
    made = engineer.submit(place, filled(engineer, place, **level))
    assert made.status_code == 303, made.text
    told = engineer.get(f"{made.headers['location']}.json").json()["evaluation"]["forecasts"]
    assert told["values"] == expected(columns, **level) and told["level"] == level.get("level", 0.9)
    assert engineer.get(made.headers["location"]).status_code == 200


def test_the_page_is_told_the_columns_of_forecasts(engineer):  # noqa: F811
    columns = forecasts("state", 60) | {"weight": list(range(1, 61))}
    other = dict(zip(("a", "b", "c", "d", "e", "f", "weight"), columns.values(), strict=True))
    place = drop(engineer, as_csv(other) + b",,1,1,1,1,1\r\n")
    roles = ("truth", "truth", "mean", "mean", "std", "std", "")
    fields = filled(engineer, place) | {f"role{i}": role for i, role in enumerate(roles)}
    looked = engineer.submit(place, fields | {"do": "look"})
    assert looked.status_code == 200 and "60 rows with an outcome, 1 without one" in looked.text
    made = engineer.submit(place, fields)
    told = engineer.get(f"{made.headers['location']}.json").json()["evaluation"]["forecasts"]
    del columns["weight"]
    assert told["values"] == expected(columns) and told["unlabelled"] == 1


@pytest.mark.parametrize(
    ("data", "column", "words"),
    [
        (b"y,mean,std\n1,1,1\n2,2,-1\n", "std", "above 0"),
        (b"y,mean,std\nmany,1,1\n2,2,1\n", "y", "many"),
        (b"y,q0.1,q0.9\n1,3,2\n", "q0.1", "must not cross"),
        (b"y,lower,upper\n1,3,2\n", "lower", "above upper"),
    ],
)
def test_a_refused_forecast_stands_beside_its_column(engineer, data, column, words):  # noqa: F811
    place = drop(engineer, data)
    said = re.search(BESIDE.format(re.escape(column), "fault"), engineer.get(place).text)
    assert said and words in said[1]
    assert engineer.submit(place, filled(engineer, place)).status_code == 422


def test_roles_that_do_not_go_with_forecasts_are_refused_in_a_sentence(engineer):  # noqa: F811
    place = drop(engineer, b"y,mean,std,when\n1,1,1,2026-01-01T00:00:00Z\n2,2,1,2026-01-01T00:00:00Z\n")
    answer = engineer.submit(place, filled(engineer, place, role3="timestamp"))
    assert answer.status_code == 422 and "timestamp is no role of a forecast" in answer.text
    answer = engineer.submit(place, filled(engineer, place, kind="event"))
    assert answer.status_code == 422 and "event is a kind of probabilities" in answer.text
    answer = engineer.submit(place, filled(engineer, place, level="much"))
    assert answer.status_code == 422 and "coverage must be a number" in answer.text
    answer = engineer.submit(place, filled(engineer, place, role1="probability", role2=""))
    assert answer.status_code == 422
