"""Collection without a server: joined by id in any order, again, corrected, killed in the middle; totals exact throughout."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from streams import FIRST, day, rows

from epimeter.cli import epimeter
from epimeter.errors import InputError
from epimeter.monitor.arriving import outcomes, parted, predictions
from epimeter.monitor.cells import packed
from epimeter.monitor.collection import BEFORE, DAY, Taken, key_of
from epimeter.monitor.embedded import collect, histories, opened, transaction
from epimeter.monitor.intake import IntakeOptions, arrived
from epimeter.monitor.joined import windows_of
from epimeter.monitor.window import Window

NOW = int(FIRST.timestamp() * 1e6) + 20 * DAY
KILLS = int(os.environ.get("EPIMETER_KILLS", "4"))


@pytest.fixture
def collection(tmp_path):
    with opened(tmp_path) as connection, transaction(connection) as made:
        yield made


def said(ids, confidence=0.8, time="2026-01-01", **columns):
    n = len(ids)
    table = {
        "id": list(ids),
        "confidence": np.broadcast_to(confidence, n),
        "time": [f"{time}T08:00:00Z"] * n,
        **columns,
    }
    return predictions(pa.table(table))


def told(ids, right=True, **columns):
    return outcomes(pa.table({"id": list(ids), "correct": list(np.broadcast_to(right, len(ids))), **columns}))


def exact(collection, system):
    """The totals from all rows that are held, and those that are kept beside them: they must be the same."""
    held = collection.run(f"SELECT {', '.join(BEFORE)} FROM collected_rows WHERE confidence IS NOT NULL").fetchall()
    kept = {(p.start, p.slice): w.to_dict() for p, w in collection.history(system).windows.items()}
    assert kept == {place: window.to_dict() for place, window in windows_of(held).items()}
    return sum(w["rows"] and sum(w["rows"]) for (_, part), w in kept.items() if part == "")


def test_outcomes_find_their_predictions_in_any_order(collection):
    s = collection.open("", "a")
    assert collection.conclude(s, told(["1", "2"]), NOW) == Taken(new=2, waiting=2)
    assert exact(collection, s) == 0 and collection.unmatched(s) == (2, 0)
    assert collection.predict(s, said(["1", "2", "3"]), NOW) == Taken(new=3)
    assert collection.conclude(s, told(["3"]), NOW) == Taken(new=1)
    assert exact(collection, s) == 3 and collection.unmatched(s) == (0, 0)


def test_the_same_again_changes_nothing_and_another_value_is_a_correction(collection):
    s = collection.open("", "a")
    collection.predict(s, said(["1", "2"]), NOW)
    collection.conclude(s, told(["1", "2"]), NOW)
    assert collection.predict(s, said(["1", "2"]), NOW + 1) == Taken(repeated=2)
    assert collection.conclude(s, told(["2", "1"]), NOW + 1) == Taken(repeated=2)
    assert collection.conclude(s, told(["1"], right=False, source=["human"]), NOW + 2) == Taken(corrected=1)
    assert collection.predict(s, said(["2"], 0.3, time=day(1)), NOW + 3) == Taken(corrected=1)
    assert exact(collection, s) == 2
    assert collection.predict(s, said(["2"], 0.3, time=day(2)), NOW + 4) == Taken(corrected=1)
    first, second, moved = collection.corrections(s)[::-1]
    assert (
        moved["before"] == f"0.3  {{}} {day(1)}T08:00:00.000000Z"
    )  # another time alone is a correction, and both are shown
    assert moved["after"] == f"0.3  {{}} {day(2)}T08:00:00.000000Z"
    assert (first["id"], first["half"], first["before"].strip(), first["after"]) == ("1", "outcome", "1", "0 human")
    assert second["half"] == "prediction" and second["before"].startswith("0.8") and second["after"].startswith("0.3")


def test_an_id_twice_in_one_batch_is_a_repetition_or_a_correction(collection):
    s = collection.open("", "a")
    assert collection.predict(s, said(["1", "1", "1"], [0.5, 0.5, 0.9]), NOW) == Taken(new=1, repeated=1, corrected=1)
    assert exact(collection, s) == 0
    assert [w.n_rows for w in collection.history(s).windows.values()] == [1]


def test_a_prediction_without_a_time_keeps_the_one_it_has(collection):
    s = collection.open("", "a")
    timeless = predictions(pa.table({"id": ["1"], "confidence": [0.7]}))
    assert collection.predict(s, timeless, NOW) == Taken(new=1)
    assert collection.predict(s, timeless, NOW + 3 * DAY) == Taken(repeated=1)
    assert [p.start for p in collection.history(s).windows] == [day(20)]


def test_any_history_of_rows_ends_in_the_totals_of_their_last_state(collection):
    s = collection.open("", "a")
    rng = np.random.default_rng(2)
    for turn in range(40):
        ids = [f"r{k}" for k in rng.integers(0, 60, 12)]
        if rng.random() < 0.5:
            table = {
                "id": ids,
                "confidence": rng.choice([0.1, 0.5, 0.55, 1.0], 12),
                "time": [f"{day(int(k))}T01:00:00Z" for k in rng.integers(0, 3, 12)],
                "region": rng.choice(["eu", "us"], 12),
            }
            collection.predict(s, predictions(pa.table(table)), NOW + turn)
        else:
            collection.conclude(s, told(ids, rng.random(12) < 0.5), NOW + turn)
    assert exact(collection, s) > 20


def test_class_probabilities_are_read_by_their_top_class_and_compared_with_the_label(collection):
    s = collection.open("", "a")
    table = pa.table({"id": ["1", "2"], "p_cat": [0.7, 0.2], "p_dog": [0.3, 0.8], "time": [f"{day(0)}T00:00:00Z"] * 2})
    collection.predict(s, predictions(table), NOW)
    collection.conclude(s, outcomes(pa.table({"id": ["1", "2"], "truth": ["cat", "cat"]})), NOW)
    (window,) = collection.history(s).windows.values()
    assert window.labelled.count[[7, 8]].tolist() == [1, 1] and window.labelled.true.units[[7, 8]].tolist() == [1, 0]


def test_a_class_that_appears_is_said_when_it_is_looked_at(tmp_path):
    runner = CliRunner()
    for number in range(8):
        classes = ("cat", "dog", "fox") if number > 5 else ("cat", "dog")
        n = 30
        table = {f"p_{name}": [1 / len(classes)] * n for name in classes}
        table |= {"id": [f"{number}-{k}" for k in range(n)], "time": [f"{day(number)}T00:00:00Z"] * n}
        table["truth"] = [classes[k % len(classes)] for k in range(n)]
        pq.write_table(pa.table(table), tmp_path / f"{number}.parquet")
        done = runner.invoke(epimeter, ["collect", str(tmp_path / "c"), str(tmp_path / f"{number}.parquet")])
        assert done.exit_code == 0, done.output
    shown = runner.invoke(epimeter, ["monitor", str(tmp_path / "c"), "-o", ""]).output
    assert f"from {day(6)} on there are 3 classes, before there were 2" in " ".join(shown.split())


def test_systems_and_organisations_do_not_see_each_other(collection):
    a, b = collection.open("one", "s"), collection.open("two", "s")
    assert a != b == key_of("two", "s")
    collection.predict(a, said(["1"]), NOW)
    assert collection.conclude(b, told(["1"]), NOW) == Taken(new=1, waiting=1)
    assert collection.history(a).windows and not collection.history(b).windows


def test_rows_grow_old_and_their_totals_stay(collection):
    s = collection.open("", "a")
    collection.predict(s, said(["1", "2", "3"]), NOW)
    collection.conclude(s, told(["1", "stranger"]), NOW)
    aged = collection.age(s, NOW + 40 * DAY)
    assert (aged.gone, aged.never_labelled, aged.unmatched) == (1, 0, 0)
    assert collection.predict(s, said(["1"]), NOW) == Taken(refused=1)  # whether it was counted cannot be known
    assert collection.predict(s, said(["2"]), NOW) == Taken(repeated=1)
    collection.conclude(s, told(["2"]), NOW + 41 * DAY)  # late, but within the horizon
    aged = collection.age(s, NOW + 120 * DAY)
    assert (aged.gone, aged.never_labelled, aged.unmatched) == (1, 1, 1)
    (window,) = collection.history(s).windows.values()
    assert (window.n_rows, window.n_labelled, window.never, window.awaiting) == (3, 2, 1, 0)
    assert collection.unmatched(s) == (0, 1)


def test_a_folder_of_before_with_one_slice_to_a_row_as_json_or_bytes_is_read_and_written_anew(tmp_path):
    with opened(tmp_path) as connection, transaction(connection) as collection:
        s = collection.open("", "a")
        names = [f"n{k:02d}" for k in range(70)]
        collection.predict(s, said(names, region=["eu", "us"] * 35, shop=names), NOW)
        before = {place: window.to_dict() for place, window in collection.history(s).windows.items()}
        rows = collection.run("SELECT block, slices FROM collected_blocks ORDER BY block").fetchall()
        assert [len(json.loads(text)) for _, text in rows] == [32, 32, 9]  # all rows, 2 regions, 70 shops
        collection.run("DROP TABLE collected_blocks")
        collection.run("CREATE TABLE collected_windows (system BIGINT, win TEXT, slice TEXT, totals BLOB)")
        for number, (place, window) in enumerate(before.items()):
            totals = json.dumps(window) if number % 2 else packed(Window.from_dict(window).cells)
            collection.run("INSERT INTO collected_windows VALUES (?, ?, ?, ?)", (s, place.start, place.slice, totals))
    with opened(tmp_path) as connection, transaction(connection) as collection:
        assert {place: window.to_dict() for place, window in collection.history(s).windows.items()} == before
        collection.conclude(s, told(names), NOW)
        assert exact(collection, s) == 70


def test_the_delay_of_truth_is_known(collection):
    s = collection.open("", "a")
    collection.predict(s, said(["1", "2"]), NOW)
    collection.conclude(s, told(["1", "2"], time=[f"{day(3)}T08:00:00Z", f"{day(5)}T08:00:00Z"]), NOW)
    (window,) = collection.history(s).windows.values()
    assert (window.delays, window.delay) == (2, 8 * 86_400)


def test_the_probability_of_outcome_1_is_an_event_and_its_truth_is_the_outcome(tmp_path):
    rows = ["id,y_prob,time"] + [f"{k},0.2,2026-01-0{1 + k % 5}T08:00:00Z" for k in range(500)]
    truth = ["id,y_true"] + [f"{k},{int(k % 5 == 0)}" for k in range(500)]
    (tmp_path / "said.csv").write_text("\n".join(rows))
    (tmp_path / "told.csv").write_text("\n".join(truth))
    runner, folder = CliRunner(), str(tmp_path / "c")
    done = runner.invoke(epimeter, ["collect", folder, str(tmp_path / "said.csv"), str(tmp_path / "told.csv")])
    assert done.exit_code == 0, done.output
    seen = json.loads(runner.invoke(epimeter, ["monitor", folder, "--json", "-o", ""]).output)
    assert seen["kind"] == "event"
    week = seen["systems"][0]["slices"][0]["last_week"]
    assert week["rows"] == 500 and abs(week["bias"]) < 1e-12


@pytest.mark.parametrize(
    ("said", "told", "sentence"),
    [
        ({"confidence": [0.9]}, {"truth": ["1"]}, "a truth beside a confidence alone must be told as correct"),
        ({"probability": [0.9]}, {"truth": ["Yes"]}, "must be 0 or 1; got 'Yes'"),
        ({"probability": [0.9]}, {"correct": [True]}, "is told as truth, 0 or 1"),
    ],
)
@pytest.mark.parametrize("first", ["prediction", "outcome"])
def test_truth_that_means_something_else_is_refused_in_either_order(collection, said, told, sentence, first):
    s = collection.open("", "a")
    steps = [
        lambda: collection.predict(s, predictions(pa.table({"id": ["1"], **said})), NOW),
        lambda: collection.conclude(s, outcomes(pa.table({"id": ["1"], **told})), NOW),
    ]
    steps = steps if first == "prediction" else steps[::-1]
    steps[0]()
    with pytest.raises(InputError, match=sentence):
        steps[1]()


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"confidence": [0.5]}, "every row needs an id"),
        ({"id": [None], "confidence": [0.5]}, "row 0 has none"),
        ({"id": ["1"], "score": [0.5]}, "predictions need a column confidence"),
        ({"id": ["1"], "confidence": [55.0]}, "Percent. Divide by 100"),
        ({"id": ["1"], "confidence": [float("nan")]}, "confidences must lie in"),
        ({"id": ["1"], "confidence": [0.5], "time": ["yesterday"]}, "row 0 has 'yesterday'"),
        ({"id": ["1", "2"], "confidence": [0.5, None]}, "1 of 2 have none, the first is row 1"),
        ({"id": ["1"], "confidence": [0.5], "p_a": [1.0]}, "not two of them"),
        ({"id": ["1"], "confidence": [0.5], "probability": [0.5]}, "not two of them"),
        ({"id": ["1"], "p_a": [0.5], "p_b": [0.2]}, "must sum to 1"),
        ({"id": ["1"], "p_a": [85.0], "p_b": [15.0]}, "sum to 100: percent?"),
        ({"id": ["1"], "confidence": [0.5], "region": ["x" * 300]}, "at most 200 letters"),
    ],
)
def test_bad_predictions_are_refused_in_one_sentence(table, sentence):
    with pytest.raises(InputError, match=sentence):
        predictions(pa.table(table))


def test_ids_that_came_as_floats_stay_apart_and_meet_those_of_whole_numbers(collection):
    s = collection.open("", "a")
    ids = [1_234_567.0, 1_234_568.0, 2.0**53 - 1]
    assert collection.predict(s, predictions(pa.table({"id": ids, "confidence": [0.8] * 3})), NOW) == Taken(new=3)
    whole = pa.array([int(i) for i in ids], pa.uint64())
    assert collection.conclude(s, outcomes(pa.table({"id": whole, "correct": [1, 0, 1]})), NOW) == Taken(new=3)
    assert predictions(pa.table({"id": pa.array([2**64 - 1], pa.uint64()), "confidence": [0.5]})).id == [str(2**64 - 1)]
    with pytest.raises(InputError, match="lost digits, and two rows would be one"):
        predictions(pa.table({"id": [2.0**53, 1.0], "confidence": [0.8] * 2}))
    with pytest.raises(InputError, match="every row needs an id; row 1 has none"):
        predictions(pa.table({"id": [1.0, float("nan")], "confidence": [0.8] * 2}))


def test_an_index_without_a_name_is_no_slice(tmp_path):
    frame = rows(0, n=40).to_pandas().rename(columns={"timestamp": "time"})
    frame.index = frame.index + 7  # a plain one, from 0 on, pandas leaves out of Parquet
    frame[["id", "confidence", "time"]].sample(frac=1, random_state=1).to_parquet(tmp_path / "p.parquet")
    frame[["id", "correct"]].to_csv(tmp_path / "o.csv")
    collect(tmp_path / "c", [str(tmp_path / "p.parquet"), str(tmp_path / "o.csv")], system="s", now=NOW)
    (history,) = histories(tmp_path / "c")
    assert history.slices("s") == [""] and sum(w.n_labelled for w in history.windows.values()) == 40
    frame[["id", "confidence", "time"]].to_csv(tmp_path / "p.csv")
    taken = collect(tmp_path / "c", [str(tmp_path / "p.csv")], system="s", now=NOW)
    assert taken["predictions"] == Taken(repeated=40)


@pytest.mark.parametrize(("column", "wrong"), [("confidence", 7.5), ("correct", 3)])
def test_a_row_that_is_refused_is_named_by_its_place_in_the_file(tmp_path, monkeypatch, column, wrong):
    monkeypatch.setattr("epimeter.monitor.embedded.BATCH", 10)
    table = pa.table({"id": [str(k) for k in range(35)], "confidence": [0.5] * 35, "correct": [None, 1, 0, 1, 1] * 7})
    cells = table.column(column).to_pylist()
    cells[31] = wrong
    pq.write_table(table.set_column(table.column_names.index(column), column, [cells]), tmp_path / "f.parquet")
    with pytest.raises(InputError, match=r"row 31 .*\(f\.parquet\)"):
        collect(tmp_path / "c", [str(tmp_path / "f.parquet")], system="s", now=NOW)


def test_a_slice_column_of_ids_is_refused_with_the_number_and_nothing_is_kept(tmp_path):
    n = 60_000  # more than are read at a time
    table = pa.table({"id": [str(k) for k in range(n)], "confidence": [0.5] * n, "user": [str(k) for k in range(n)]})
    pq.write_table(table, tmp_path / "p.parquet")
    with pytest.raises(InputError, match="'user' has 60,000"):
        collect(tmp_path / "c", [str(tmp_path / "p.parquet")], system="s")
    assert not histories(tmp_path / "c")[0].windows


def test_what_was_collected_is_what_the_rows_say(tmp_path):
    table = rows(0, labelled=0.6)
    pq.write_table(table, tmp_path / "day.parquet")
    said_, known = parted(table)
    pq.write_table(known, tmp_path / "truth.parquet")
    pq.write_table(said_, tmp_path / "said.parquet")
    collect(tmp_path / "c", [str(tmp_path / "truth.parquet"), str(tmp_path / "said.parquet")], system="s", now=NOW)
    (history,) = histories(tmp_path / "c")
    whole = arrived([tmp_path / "day.parquet"], IntakeOptions(by=("region",), name="s"))
    plain = {
        place: {k: v for k, v in window.to_dict().items() if not k.startswith("delay")}
        for place, window in history.windows.items()
    }
    assert plain == {place: window.to_dict() for place, window in whole.windows.items()}


def test_files_are_collected_and_looked_at_by_commands(tmp_path):
    runner = CliRunner()
    for number in range(12):
        pq.write_table(rows(number, shift=-0.25 if number > 8 else 0.0), tmp_path / f"{number}.parquet")
    files = [str(tmp_path / f"{number}.parquet") for number in range(12)]
    done = runner.invoke(epimeter, ["collect", str(tmp_path / "c"), *files, "--system", "bot"])
    assert done.exit_code == 0 and "predictions: 9,600 new, 0 repeated" in done.output
    again = runner.invoke(epimeter, ["collect", str(tmp_path / "c"), files[3], "--json"])
    assert again.exit_code == 0
    done = runner.invoke(epimeter, ["monitor", str(tmp_path / "c"), "--json", "-o", ""])
    state = json.loads(done.output)
    bot = next(system for system in state["systems"] if system["system"] == "bot")
    assert done.exit_code == 1 and any(alarm["kind"] == "change" for alarm in bot["alarms"])
    assert [part["slice"] for part in bot["slices"]] == ["", "region=eu", "region=us"]


FEEDER = """
import sys
import pyarrow as pa
from epimeter.monitor.arriving import outcomes, predictions
from epimeter.monitor.embedded import opened, transaction

folder, turn = sys.argv[1], int(sys.argv[2])
with opened(folder) as connection:
    with transaction(connection) as collection:
        system = collection.open("", "s")
    for batch in range(1000):
        ids = [f"{turn}-{batch}-{k}" for k in range(200)]
        time = ["2026-01-0%dT00:00:00Z" % (1 + batch % 3)] * 200
        table = pa.table({"id": ids, "confidence": [0.25 + (k % 50) / 100 for k in range(200)], "time": time})
        with transaction(connection) as collection:
            collection.predict(system, predictions(table), 1767400000000000)
        print("p", turn, batch, flush=True)
        with transaction(connection) as collection:
            collection.conclude(system, outcomes(pa.table({"id": ids[:150], "correct": [True] * 150})), 1767400000000000)
        print("o", turn, batch, flush=True)
"""


def test_killed_at_any_moment_no_acknowledged_row_is_lost_and_none_counts_twice(tmp_path):
    rng = np.random.default_rng(7)
    acknowledged = set()
    for turn in range(KILLS):
        words = [sys.executable, "-c", FEEDER, str(tmp_path), str(turn)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            lines = [process.stdout.readline()]
            time.sleep(float(rng.uniform(0.0, 0.3)))
            process.send_signal(signal.SIGKILL)
            lines += process.stdout.readlines()
        acknowledged |= {tuple(line.split()) for line in lines if line.endswith("\n") and len(line.split()) == 3}
    with opened(tmp_path) as connection, transaction(connection) as collection:
        s = key_of("", "s")
        exact(collection, s)
        held = collection.run("SELECT id, correct FROM collected_rows").fetchall()
    ids, labelled = {row[0] for row in held}, {row[0] for row in held if row[1] is not None}
    assert len(acknowledged) >= KILLS
    for half, turn, batch in acknowledged:
        assert f"{turn}-{batch}-0" in ids and f"{turn}-{batch}-199" in ids
        if half == "o":
            assert f"{turn}-{batch}-149" in labelled


def test_a_file_that_is_no_collection_is_said_so(tmp_path):
    (tmp_path / "collection.db").write_text("not a database, though it is long enough to be looked at as one")
    done = CliRunner().invoke(epimeter, ["monitor", str(tmp_path), "-o", ""])
    assert done.exit_code != 0 and "cannot be used as a collection" in str(done.exception)
