"""The sums behind the signal: remembered minute by minute, and always those of exactly the last 24 hours."""

import numpy as np
import pytest
from test_store import empty, evaluation, store  # noqa: F401

from epimeter.metrics import ers_ece
from epimeter.service.signal import DAY, MINUTE, Day
from epimeter.standards import ers_u_recall
from epimeter.store import evaluations
from epimeter.summaries.travel import to_bytes
from epimeter.views import view


def add(db, number, at, correct, confidence):
    recipe = ers_ece.reads
    made = view(correct, confidence).event
    wrong = confidence[correct == 0]
    facts = {"status": "completed", "completed_at": at, "created_at": at, "wrong": len(wrong)}
    facts |= {"wrong_unsure": int((wrong < 0.7).sum()), "totals": to_bytes(recipe.summarise(made))}
    evaluations.add(db, **evaluation(f"eval_{number}", **facts))


def test_the_sum_is_that_of_all_rows_of_the_last_24_hours(store):  # noqa: F811
    rng = np.random.default_rng(0)
    end = 30_000_000 * MINUTE + 12_345
    times = sorted(int(at) for at in end - rng.integers(0, int(1.3 * DAY), 60))
    data = {}
    with store.writing() as db:
        for number, at in enumerate(times):
            confidence = rng.random(40)
            correct = (rng.random(40) < confidence).astype(np.uint8)
            data[at] = (correct, confidence)
            add(db, number, at, correct, confidence)
    day = Day()
    for now in (
        end - 7 * MINUTE - 3,
        end - 6 * MINUTE,
        end - 5 * MINUTE - 59_000_000,
        end,
        end + 20 * MINUTE,
        end + DAY,
    ):
        with store.reading() as db:
            found = day.sum(db, now)
        inside = [data[at] for at in times if now - DAY <= at < now]
        assert found.count == len(inside)
        if inside:
            correct, confidence = (np.concatenate(parts) for parts in zip(*inside, strict=True))
            expected = found.metrics()
            assert expected["global_ece"] == pytest.approx(ers_ece(correct, confidence), abs=1e-9)
            assert expected["global_u_recall"] == pytest.approx(ers_u_recall(correct, confidence), abs=1e-9)


def test_nothing_gives_null(store):  # noqa: F811
    with store.reading() as db:
        assert Day().sum(db, 10 * DAY).metrics() == {"global_ece": None, "global_u_recall": None}
