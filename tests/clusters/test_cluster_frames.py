"""Dask and Spark, as they are: schedulers, worker processes, and workers that are killed in the middle."""

import contextlib
import importlib
import os
import re
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import epimeter
from epimeter import scan
from epimeter.errors import InputError, ReadError

N = 24_000
METRICS = ["ece", "nll", "dpe", "smece", "ecce_mad"]


def frame(n=N):
    rng = np.random.default_rng(0)
    p = rng.random(n)
    return pd.DataFrame({"confidence": p, "correct": rng.random(n) < p**1.2, "model": rng.choice(["a", "b"], n)})


def numbers(report):
    return {m.metric: (m.value, dict(m.fields), m.exact) for m in report.values()}


@pytest.fixture(scope="module")
def exact():
    rows = frame()
    return numbers(epimeter.evaluate(rows["correct"], rows["confidence"], metrics=METRICS, intervals=None))


def killed_once(part, flag):
    """Kill the worker that comes here first, as a machine that fails would."""
    if not os.path.exists(flag):
        open(flag, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return part


# Dask on this machine's threads.


@pytest.fixture
def lazy():
    dd = importlib.import_module("dask.dataframe")
    return dd.from_pandas(frame(), npartitions=7)


def test_a_dask_frame_gives_the_same_bits(lazy, exact):
    assert numbers(scan(lazy, METRICS)) == exact


def test_a_dask_frame_gives_the_same_slices(lazy):
    found, whole = scan(lazy, ["ece", "nll"], by="model"), scan(frame(), ["ece", "nll"], by="model")
    assert {value: numbers(found[value]) for value in found} == {value: numbers(whole[value]) for value in whole}


def test_a_dask_frame_keeps_no_rows_beyond_the_limit_and_draws_the_same_sample(lazy):
    found = scan(lazy, ["ece", "smece", "ece_sweep"], row_limit=1_000, sample=500)
    whole = scan(frame(), ["ece", "smece", "ece_sweep"], row_limit=1_000, sample=500)
    assert numbers(found) == numbers(whole) and found["smece"].error < 1e-6


def test_a_bad_row_of_a_dask_frame_is_named_with_its_partition():
    dd = importlib.import_module("dask.dataframe")
    rows = frame(100)
    rows.loc[70, "confidence"] = 1.5
    with pytest.raises(InputError, match=r"must lie in \[0, 1\].*\(partition 2 of the Dask DataFrame, row \d+\)$"):
        scan(dd.from_pandas(rows, npartitions=4))


# A Dask cluster: a scheduler and worker processes.


@pytest.fixture
def cluster():
    distributed = importlib.import_module("distributed")
    import dask

    quiet = {"distributed.admin.log-format": "", "logging": {"distributed": "critical"}}
    with (
        dask.config.set(quiet),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=None, silence_logs=50
        ) as made,
        distributed.Client(made) as client,
    ):
        yield client


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_gives_the_same_bits(cluster, lazy, exact):
    assert numbers(scan(lazy, METRICS)) == exact


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_dask_worker_killed_in_the_middle_changes_no_bit(cluster, lazy, exact, tmp_path):
    flag = str(tmp_path / "killed")
    risky = lazy.map_partitions(killed_once, flag, meta=lazy._meta)
    assert numbers(scan(risky, METRICS)) == exact
    assert os.path.exists(flag)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_that_goes_away_is_one_sentence(cluster, lazy):
    def closing(part):
        os.kill(os.getpid(), signal.SIGKILL)
        return part

    with pytest.raises(ReadError, match="the Dask cluster went away before all rows were read") as caught:
        scan(lazy.map_partitions(closing, meta=lazy._meta), ["ece"])
    assert "\n" not in str(caught.value)


# Spark, local, with Python workers of its own.


@pytest.fixture(scope="module")
def spark():
    sql = importlib.import_module("pyspark.sql")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    made = (
        sql.SparkSession.builder.master("local[2,4]")  # two cores, four attempts at a task
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.memory", "1g")
        .getOrCreate()
    )
    made.sparkContext.setLogLevel("OFF")
    yield made
    with contextlib.suppress(Exception):  # the last test has taken it away already
        made.stop()


@pytest.fixture(scope="module")
def parquet(tmp_path_factory):
    path = tmp_path_factory.mktemp("spark") / "rows"
    path.mkdir()
    rows = frame()
    for part in range(4):
        rows.iloc[part * 6_000 : (part + 1) * 6_000].to_parquet(path / f"{part}.parquet")
    return str(path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_code_of_the_page_about_scale_runs_on_spark(spark, parquet):
    page = (Path(__file__).parents[2] / "docs" / "scale.md").read_text("utf-8")
    (code,) = re.findall(r"^```py\n(.*?)^```", page, re.S | re.M)
    code = code.replace('"logs"', repr(parquet)).replace('by="day"', 'by="model"')
    assert list(eval(code.partition("#")[0], {"scan": scan, "spark": spark}))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_spark_gives_the_same_bits_and_slices(spark, parquet, exact):
    rows = spark.read.parquet(parquet).repartition(5)
    assert numbers(scan(rows, METRICS)) == exact
    found, whole = scan(rows, ["ece", "nll"], by="model"), scan(frame(), ["ece", "nll"], by="model")
    assert {value: numbers(found[value]) for value in found} == {value: numbers(whole[value]) for value in whole}
    above = scan(rows, ["smece", "ece_sweep"], row_limit=1_000)
    assert above["smece"].error < 1e-6 and "ece_sweep" in above.left_out


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_spark_worker_killed_in_the_middle_changes_no_bit(spark, parquet, exact, tmp_path):
    flag = str(tmp_path / "killed")

    def risky(batches):
        for batch in batches:
            if not os.path.exists(flag):
                open(flag, "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    rows = spark.read.parquet(parquet)
    assert numbers(scan(rows.mapInArrow(risky, rows.schema), METRICS)) == exact
    assert os.path.exists(flag)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_spark_refuses_in_one_sentence(spark, parquet):
    rows = spark.read.parquet(parquet)
    bad = rows.withColumn("confidence", rows["confidence"] + 1)
    with pytest.raises(InputError, match=r"must lie in \[0, 1\].*partition \d of the Spark DataFrame, row \d+\)$"):
        scan(bad)
    with pytest.raises(InputError, match="draw with frame"):
        scan(rows, sample=100)
    with pytest.raises(ReadError, match="has no column 'modle' to slice by"):
        scan(rows, by="modle")

    def failing(batches):
        raise RuntimeError("the disk is on fire")
        yield

    with pytest.raises(ReadError, match="the Spark DataFrame could not be read") as caught:
        scan(rows.mapInArrow(failing, rows.schema))
    assert "\n" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_spark_that_goes_away_is_one_sentence(spark, parquet):
    def slow(batches):
        time.sleep(60)
        yield from batches

    rows = spark.read.parquet(parquet)
    rows = rows.mapInArrow(slow, rows.schema)
    machine = spark.sparkContext._gateway.proc
    threading.Timer(5, machine.kill).start()
    with pytest.raises(ReadError, match="the Spark cluster went away before all rows were read") as caught:
        scan(rows, ["ece"])
    assert "\n" not in str(caught.value)
