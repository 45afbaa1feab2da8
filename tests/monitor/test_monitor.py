"""The command `epimeter monitor`, typed: states, alarms, exit codes, pages; and everything that may come in wrong."""

import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from streams import day, rows, stream

from epimeter.cli import epimeter, main
from epimeter.errors import InputError
from epimeter.monitor import History, MonitorSettings, arrived, look
from epimeter.monitor.intake import IntakeOptions
from epimeter.monitor.settings import rate_of
from epimeter.monitor.turns import turn


@pytest.fixture(scope="module")
def quiet(tmp_path_factory):
    return stream(tmp_path_factory.mktemp("monitor") / "quiet")


@pytest.fixture(scope="module")
def shifted(tmp_path_factory):
    return stream(tmp_path_factory.mktemp("monitor") / "shifted", begins=16)


def typed(*words):
    """The exit code, and what was printed."""
    done = CliRunner().invoke(epimeter, [str(word) for word in words])
    return done.exit_code, done.output


def seen(*words):
    code, output = typed("monitor", *words, "--json", "-o", "")
    return code, json.loads(output[output.index("{") :])


def refusal(capsys, *words):
    with pytest.raises(SystemExit) as end:
        main(["monitor", *map(str, words), "-o", ""])
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("epimeter: ") and "Traceback" not in said
    return said


def test_a_stream_without_change_is_quiet(quiet):
    code, state = seen(quiet, "--by", "region")
    assert code == 0 and state["exit_code"] == 0
    (system,) = state["systems"]
    assert system["verdict"] == "quiet" and not system["alarms"]
    assert [part["slice"] for part in system["slices"]] == ["", "region=eu", "region=us"]
    assert system["reference"]["watched_from"] == day(8)
    windows = system["slices"][0]["windows"]
    assert len(windows["day"]) == 24 and windows["lifetime"]["rows"] == 24 * 800
    assert {"week", "month", "sliding_week", "sliding_month"} <= set(windows)


def test_a_shift_is_found_with_its_day_its_size_and_what_to_do(shifted):
    code, state = seen(shifted)
    assert code == 1
    alarm = next(alarm for alarm in state["systems"][0]["alarms"] if alarm["kind"] == "change")
    assert day(15) <= alarm["since"]["first"] <= day(16) <= alarm["since"]["last"] <= day(17)
    assert alarm["opened"] in (day(16), day(17)) and alarm["state"] in ("open", "escalated")
    low, high = alarm["size"]["interval"]
    assert low < -0.06 and high < -0.01
    assert "less often than in the reference" in alarm["sentence"] and "years" in alarm["sentence"]


def test_the_state_is_printed_and_a_page_without_script_is_written(shifted, tmp_path):
    code, output = typed("monitor", shifted, "--by", "region", "-o", tmp_path / "page.html")
    assert code == 1 and "open alarm" in output and "region=eu" in output
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg") >= 4 and "<script" not in page and "http://" not in page.replace("http-equiv", "")
    assert "alarm at 365" in page and "reference" in page


def test_the_page_is_written_where_one_stands(quiet, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert typed("monitor", quiet)[0] == 0
    assert "<svg" in (tmp_path / "epimeter-monitor.html").read_text()


def test_a_shift_of_one_slice_is_blamed_on_that_slice(tmp_path):
    folder = stream(tmp_path / "sliced", begins=16, shift=-0.25, only="eu")
    code, state = seen(folder, "--by", "region")
    alarm = next(alarm for alarm in state["systems"][0]["alarms"] if alarm["kind"] == "change")
    assert code == 1 and alarm["slices"] == ["region=eu"]


def test_an_alarm_closes_when_calibration_is_back(tmp_path):
    folder = stream(tmp_path / "back", days=40, begins=16, shift=-0.15)
    for number in range(20, 40):
        pq.write_table(rows(number), folder / f"part-{number:03d}.parquet")
    _, state = seen(folder, "--tolerance", "0.03")
    (alarm,) = [alarm for alarm in state["systems"][0]["alarms"] if alarm["kind"] == "change"]
    assert alarm["state"] == "closed" and day(26) <= alarm["closed"] <= day(35)


def test_being_off_from_the_beginning_is_no_change_but_outside_the_tolerance(tmp_path):
    folder = stream(tmp_path / "off", begins=0, shift=-0.08)
    code, state = seen(folder)
    assert code == 1
    assert [alarm["kind"] for alarm in state["systems"][0]["alarms"]] == ["absolute"]
    assert seen(folder, "--tolerance", "0.1")[0] == 0


@pytest.mark.parametrize(
    ("names", "shift", "said"),
    [
        (("confidence", "correct"), -0.08, r"it is over-confident by at least \d\.\d points since"),
        (("y_prob", "y_true"), -0.08, r"it says at least \d\.\d points too much for outcome 1 since"),
        (("y_prob", "y_true"), 0.08, r"it says at least \d\.\d points too little for outcome 1 since"),
    ],
)
def test_every_sentence_about_a_stream_uses_the_words_of_its_kind(tmp_path, names, shift, said):
    folder = tmp_path / "rows"
    folder.mkdir()
    for number in range(18):
        table = rows(number, shift=shift * (1 if number < 10 else 2))  # so that a change is told as well
        known = dict(zip(("confidence", "correct"), names, strict=True))
        table = table.rename_columns([known.get(name, name) for name in table.column_names])
        pq.write_table(table, folder / f"part-{number:03d}.parquet")
    page = tmp_path / "page.html"
    code, output = typed("monitor", folder, "--level", "L3", "-o", page)
    everything = output + page.read_text()
    assert code == 1 and re.search(said, " ".join(output.split()))
    assert ("confiden" in everything) == (names[0] == "confidence")


def test_the_limit_of_a_level_is_watched_firm_or_marginal(tmp_path):
    folder = stream(tmp_path / "level", days=21, begins=0, shift=-0.2)
    _, state = seen(folder, "--level", "L3", "--tolerance", "0.3")
    alarms = state["systems"][0]["alarms"]
    assert [alarm["kind"] for alarm in alarms] == ["threshold"] and alarms[0]["size"]["limit"] == 0.10
    threshold = state["systems"][0]["slices"][0]["threshold"]
    assert threshold["crossed"] and threshold["assurance"] == "firm" and threshold["rows_needed"] is None
    few = stream(tmp_path / "few", days=21, begins=0, shift=-0.11, n=60)
    threshold = seen(few, "--level", "L3", "--tolerance", "0.3")[1]["systems"][0]["slices"][0]["threshold"]
    assert threshold["assurance"] == "marginal" and threshold["rows_needed"] > 420


def test_summaries_say_the_same_as_their_rows(shifted, tmp_path):
    runner = CliRunner()
    for number in range(24):
        file = shifted / f"part-{number:03d}.parquet"
        out = tmp_path / f"{day(number)}.epi"
        assert runner.invoke(epimeter, ["summarise", str(file), "--by", "region", "-o", str(out)]).exit_code == 0
    from_rows, from_summaries = seen(shifted, "--by", "region")[1], seen(tmp_path)[1]
    for key in ("alarms", "slices"):
        here, there = (
            json.dumps(state["systems"][0][key]).replace("shifted", "").replace(tmp_path.name, "")
            for state in (from_rows, from_summaries)
        )
        if key == "slices":  # a summary knows the confidences of labelled rows only, by range
            here, there = (re.sub(r'"without_labels": \{[^}]*\}', "", part) for part in (here, there))
        assert here == there


def test_one_summary_of_many_days_is_read_by_its_slices(quiet, tmp_path):
    folder = tmp_path / "days"
    for number in range(24):
        (folder / f"day={day(number)}").mkdir(parents=True)
        shutil.copy(quiet / f"part-{number:03d}.parquet", folder / f"day={day(number)}" / "rows.parquet")
    done = CliRunner().invoke(epimeter, ["summarise", str(folder), "--by", "day", "-o", str(tmp_path / "all.epi")])
    assert done.exit_code == 0
    code, state = seen(tmp_path / "all.epi")
    assert code == 0 and len(state["systems"][0]["slices"][0]["windows"]["day"]) == 24


def test_a_reference_may_be_given(quiet, shifted):
    late = sorted(shifted.glob("*.parquet"))[-1]
    code, state = seen(late, "--reference", quiet)
    assert code == 1 and "change" in [alarm["kind"] for alarm in state["systems"][0]["alarms"]]


def test_a_state_fed_day_by_day_notes_every_alarm_once(shifted, tmp_path):
    state = tmp_path / "shifted.state"
    for number in range(24):
        code, _ = typed("monitor", "feed", state, shifted / f"part-{number:03d}.parquet", "--as-of", day(number))
        if number < 2:
            assert code == 2
    fed = seen("feed", state, "--as-of", day(23))[1]
    whole = seen(shifted, "--as-of", day(23))[1]
    windows, everything = (told["systems"][0]["slices"][0]["windows"] for told in (fed, whole))
    assert windows == everything
    opened = [event["alarm"] for event in History.load(state).events if event["event"] == "alarm.opened"]
    assert opened == [alarm["id"] for alarm in fed["systems"][0]["alarms"]]
    assert opened[0].startswith("change:") and opened[0][-10:] in (day(16), day(17))


def test_a_day_fed_again_replaces_it_and_counts_once(tmp_path):
    state = tmp_path / "system.json"
    for labelled in (0.5, True, True):
        pq.write_table(rows(0, labelled=labelled), tmp_path / "day.parquet")
        _, told = seen("feed", state, tmp_path / "day.parquet", "--as-of", day(3))
    assert told["systems"][0]["slices"][0]["windows"]["lifetime"]["rows"] == 800
    replaced = [e for e in History.load(state).events if e["event"] == "window.replaced"]
    assert len(replaced) == 1 and replaced[0]["before"]["labelled"] < replaced[0]["now"]["labelled"] == 800


def test_the_same_predictions_in_two_files_count_once_with_the_outcomes_of_the_fuller_one(tmp_path):
    pq.write_table(rows(0, labelled=0.3), tmp_path / "a.parquet")
    pq.write_table(rows(0), tmp_path / "b.parquet")
    _, told = seen(tmp_path, "--by", "region")
    assert told["systems"][0]["slices"][0]["windows"]["lifetime"]["rows"] == 800
    assert "the same predictions" in told["cautions"][0]


def test_an_alarm_is_acknowledged_by_name(shifted, tmp_path):
    state = tmp_path / "s.json"
    _, told = seen("feed", state, shifted)
    name = next(a["id"] for a in told["systems"][0]["alarms"] if a["state"] != "closed")
    assert typed("monitor", "acknowledge", state, name, "--by", "Ada")[0] == 0
    code, told = seen("feed", state)
    alarm = next(a for a in told["systems"][0]["alarms"] if a["id"] == name)
    assert code == 1 and alarm["state"] == "acknowledged" and alarm["acknowledged"] == "Ada"
    assert "no alarm is called" in str(
        CliRunner().invoke(epimeter, ["monitor", "acknowledge", str(state), "x"]).exception
    )


def test_a_clock_set_back_raises_no_alarm_and_closes_nothing_again(quiet, tmp_path):
    state = tmp_path / "s.json"
    seen("feed", state, quiet, "--as-of", day(23))
    before = History.load(state).to_dict()
    code, told = seen("feed", state, "--as-of", day(2))
    assert code == 0 and "is kept" in told["cautions"][0]
    assert History.load(state).to_dict() == before


def test_a_state_that_is_fed_without_a_day_does_not_go_back_with_the_clock(shifted, tmp_path, monkeypatch):
    state = tmp_path / "s.json"
    assert seen("feed", state, shifted)[0] == 1
    before = History.load(state).to_dict()
    with monkeypatch.context() as clock:
        clock.setattr("epimeter.cli.monitor._now", lambda unit: day(6))
        code, told = seen("feed", state)
        assert code == 1 and told["as_of"] == day(23)  # what was open is open, and nothing waits again
        pq.write_table(rows(24), tmp_path / "next.parquet")
        code, told = seen("feed", state, tmp_path / "next.parquet")
        assert told["as_of"] == day(23) and "800 rows lie in the future" in told["systems"][0]["cautions"][0]
    assert History.load(state).events == before["events"]
    assert seen("feed", state)[1]["as_of"] == day(24)


def test_rows_waiting_longer_than_the_horizon_count_as_never_labelled(tmp_path):
    folder = stream(tmp_path / "w", days=12, delay=4)
    _, told = seen(folder, "--horizon", "20", "--as-of", day(40), "--delay", "7")
    assert any("3,200 predictions were never labelled within 20 days" in c for c in told["systems"][0]["cautions"])


def test_silence_is_an_alarm(quiet, tmp_path):
    code, told = seen(quiet, "--as-of", day(30))
    sentences = [alarm["sentence"] for alarm in told["systems"][0]["alarms"]]
    assert code == 1 and sentences[0].startswith(f"No predictions have come since {day(23)}")
    assert [a["id"] for a in seen(quiet, "--as-of", day(40))[1]["systems"][0]["alarms"]] == [
        f"silence-predictions:quiet:{day(26)}"
    ]
    late = stream(tmp_path / "late", days=24, delay=12)
    _, told = seen(late)
    assert "No truth has come" in told["systems"][0]["alarms"][0]["sentence"]
    assert seen(late, "--delay", "12")[0] == 0


def test_a_feed_that_repeats_itself_is_an_alarm(tmp_path):
    folder = stream(tmp_path / "r", days=12)
    table = rows(8)
    later = pa.array(np.array(table["timestamp"].to_numpy()) + np.timedelta64(1, "D"))
    again = table.set_column(3, "timestamp", pc_utc(later))
    pq.write_table(again, folder / "part-009.parquet")
    _, told = seen(folder)
    assert any("The feed repeats itself" in alarm["sentence"] for alarm in told["systems"][0]["alarms"])


def pc_utc(times):
    return times.cast(pa.timestamp("us", "UTC"))


def test_another_scale_from_one_day_on_is_asked_about_and_not_judged(tmp_path):
    folder = stream(tmp_path / "p", days=30)
    for number in range(15, 30):
        pq.write_table(rows(number, scale=100.0), folder / f"part-{number:03d}.parquet")
    code, told = seen(folder)
    (alarm,) = told["systems"][0]["alarms"]  # and no truth is missed for rows that cannot be judged
    assert code == 2 and "percent?" in alarm["sentence"] and alarm["opened"] == day(15)
    assert told["systems"][0]["slices"][0]["windows"]["lifetime"]["rows"] == 15 * 800


def test_one_confidence_above_one_is_refused_with_its_place(tmp_path, capsys):
    table = rows(0).to_pydict()
    table["confidence"][17] = 1.2
    pq.write_table(pa.table(table), tmp_path / "x.parquet")
    assert "the first is 1.2 (x.parquet, row 17)" in refusal(capsys, tmp_path)


def test_times_in_the_future_wait(tmp_path):
    folder = stream(tmp_path / "f", days=20)
    _, told = seen(folder, "--as-of", day(15))
    assert "3,200 rows lie in the future" in told["systems"][0]["cautions"][0]
    assert told["systems"][0]["slices"][0]["windows"]["lifetime"]["rows"] == 16 * 800


def test_a_window_without_rows_is_said(tmp_path):
    folder = stream(tmp_path / "g", days=20)
    (folder / "part-010.parquet").unlink()
    code, told = seen(folder)
    assert code == 0 and any("1 windows between" in caution for caution in told["systems"][0]["cautions"])


def test_a_class_that_appears_later_is_said(tmp_path):
    rng = np.random.default_rng(4)
    for number in range(12):
        k = 3 if number < 8 else 4
        prob = rng.dirichlet(np.ones(k), 400)
        true = (rng.random((400, 1)) < prob.cumsum(axis=1)).argmax(axis=1)
        columns = {f"p_{j}": prob[:, j] for j in range(k)} | {"label": true}
        pq.write_table(pa.table(columns), tmp_path / f"{day(number)}.parquet")
    code, told = seen(tmp_path)
    assert code == 0 and told["kind"] == "classes"
    assert f"from {day(8)} on there are 4 classes, before there were 3" in told["systems"][0]["cautions"][0]


def test_a_slice_column_of_ids_is_refused_with_the_number(tmp_path, capsys):
    pq.write_table(rows(0, n=5000), tmp_path / "one.parquet")
    assert "has 5,000 in one.parquet" in refusal(capsys, tmp_path / "one.parquet", "--by", "id")


def test_too_little_to_judge_is_said_and_not_called_quiet(tmp_path, capsys):
    folder = stream(tmp_path / "two", days=2)
    code, told = seen(folder)
    assert code == 2 and "at least three windows with outcomes" in told["systems"][0]["why"]
    unlabelled = stream(tmp_path / "none", days=5, delay=5)
    code, told = seen(unlabelled)
    assert code == 2 and told["systems"][0]["why"] == "no row has an outcome yet"
    (tmp_path / "empty").mkdir()
    assert "holds no file of a known format" in refusal(capsys, tmp_path / "empty")


def test_rows_without_a_time_need_a_day_in_the_name(tmp_path, capsys):
    table = rows(0).drop_columns(["timestamp"])
    pq.write_table(table, tmp_path / "rows.parquet")
    assert "rows need a time" in refusal(capsys, tmp_path)
    state = tmp_path / "s.json"
    seen("feed", state, tmp_path / "rows.parquet", "--as-of", "2026-02-03")
    assert [place.start for place in History.load(state).windows] == ["2026-02-03"]


def test_rows_and_summaries_in_one_folder_are_refused(tmp_path, capsys):
    stream(tmp_path, days=1)
    CliRunner().invoke(
        epimeter, ["summarise", str(tmp_path / "part-000.parquet"), "-o", str(tmp_path / "2026-01-01.epi")]
    )
    assert "rows or summaries, not both" in refusal(capsys, tmp_path)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--tolerance", "1"], "tolerance must be at least 0 and below 1"),
        (["--false-alarms", "often"], "such as '1 per year'; got 'often'"),
        (["--false-alarms", "1 per day"], "rarer than every second window"),
        (["--as-of", "someday"], "--as-of must be a day such as 2026-02-10"),
        (["--by", "nowhere"], "has no column 'nowhere'"),
        (["--horizon", "1"], "horizon must be at least the delay"),
    ],
)
def test_wrong_options_are_answered_in_one_sentence(quiet, capsys, words, sentence):
    assert sentence in refusal(capsys, quiet, *words)


def test_a_state_that_is_none_is_refused(tmp_path, capsys):
    for content in ("{}", "no json", '{"format": 9}', '{"format": 1}'):
        (tmp_path / "s.json").write_text(content)
        assert "s.json" in refusal(capsys, "feed", tmp_path / "s.json")


def test_rates_are_read_as_people_write_them():
    assert rate_of("1 per year") == rate_of("once a year") == rate_of("at most one in a year") == 1
    assert rate_of("2 per month") == 24 and rate_of("1 per decade") == 0.1


def test_systems_are_told_apart_by_a_column_or_a_folder(quiet, tmp_path):
    for name in ("a", "b"):
        shutil.copytree(quiet, tmp_path / f"model={name}")
    _, told = seen(tmp_path, "--system", "model")
    assert [system["system"] for system in told["systems"]] == ["a", "b"]


def test_a_history_is_saved_and_loaded_to_the_bit(quiet, tmp_path):
    history = History(MonitorSettings(), by=("region",))
    history.feed(arrived([quiet], IntakeOptions(by=("region",), name="s")))
    history.save(tmp_path / "h.json")
    again = History.load(tmp_path / "h.json")
    assert again.to_dict() == history.to_dict()
    assert look(again).to_dict() == look(history).to_dict()


def test_a_state_kept_as_json_is_read_and_written_anew(quiet, tmp_path):
    state = tmp_path / "s.json"
    history = History(MonitorSettings(), by=("region",))
    history.feed(arrived([quiet], IntakeOptions(by=("region",), name="s")))
    state.write_text(json.dumps(history.to_dict()))
    assert typed("monitor", "feed", state, "--as-of", day(23))[0] == 0
    assert state.read_bytes().startswith(b"epimeter monitor 2\n")
    assert History.load(state).to_dict()["windows"] == history.to_dict()["windows"]


def test_a_state_cut_off_anywhere_is_refused_in_one_sentence(quiet, tmp_path, capsys):
    history = History()
    history.feed(arrived([quiet], IntakeOptions(name="s")))
    whole = history.to_bytes()
    for length in (5, 18, 19, 200, len(whole) // 2, len(whole) - 1):
        (tmp_path / "s.state").write_bytes(whole[:length])
        assert "s.state" in refusal(capsys, "feed", tmp_path / "s.state")


def test_forecasts_of_two_kinds_are_not_mixed(tmp_path):
    history = History()
    pq.write_table(rows(0), tmp_path / "a.parquet")
    history.feed(arrived([tmp_path / "a.parquet"], IntakeOptions()))
    other = rows(1).drop_columns(["correct", "confidence"])
    other = other.append_column("prob", pa.array(np.linspace(0, 1, 800))).append_column("label", pa.array([0, 1] * 400))
    pq.write_table(other, tmp_path / "b.parquet")
    with pytest.raises(InputError, match="one history holds forecasts of one kind"):
        history.feed(arrived([tmp_path / "b.parquet"], IntakeOptions()))


def test_days_of_the_past_that_are_fed_one_by_one_are_one_silence(tmp_path):
    folder, state = stream(tmp_path / "month", days=24), tmp_path / "bot.state"
    names = set()
    for file in sorted(folder.iterdir()):
        typed("monitor", "feed", state, file, "--as-of", day(25))
        events = History.load(state).events
        names |= {event["alarm"] for event in events if event["event"] == "alarm.opened"}
    assert len(names) == 1 and names.pop().startswith("silence-predictions:")
    assert [(e["event"], e.get("why")) for e in events if e["event"].startswith("alarm")] == [
        ("alarm.opened", None),
        ("alarm.closed", "predictions have come"),
    ]


def test_commands_that_feed_one_state_take_turns(quiet, tmp_path):
    state, told = tmp_path / "bot.state", []
    with turn(state, told.append):
        days = [quiet / f"part-{number:03d}.parquet" for number in range(3)]
        words = [sys.executable, "-m", "epimeter", "monitor", "feed", str(state)]
        fed = [subprocess.Popen([*words, str(file)], stderr=subprocess.PIPE, text=True) for file in days]
        for one in fed:
            assert (
                one.stderr.readline() == "epimeter: another command is changing bot.state; waiting until it is done\n"
            )
    for one in fed:
        assert "Traceback" not in one.communicate()[1]
    assert not told and [place.start for place in History.load(state).windows] == [day(0), day(1), day(2)]
