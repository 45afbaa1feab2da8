# SPDX-License-Identifier: Apache-2.0
"""What each field is: the sentence below it in its type, else the one that holds for fields of this name everywhere."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable
from typing import Any

import msgspec

WORDS = {
    "accuracy": "Share of the answers that were right.",
    "action": "What was done, such as key.made or certificate.revoked.",
    "active_evaluations": "Evaluations that were completed in the last 24 hours.",
    "actor": "Who did it: the id of a key, or a part of the service.",
    "after": "The value that holds now.",
    "aim": "The level that is aimed at.",
    "alarm": "The name of the alarm.",
    "at": "When, in UTC.",
    "attempt": "Which evaluation of this system it is, counted from 1.",
    "attempts": "How often it was tried.",
    "available_at": "From when on the tier of the caller may see it.",
    "balance_ok": "Whether no class has more than the share that ERS 3.1 allows.",
    "before": "The value that was replaced.",
    "by": "Who takes it up.",
    "certifiable": "Whether a certificate may be issued from it.",
    "checks": "Each thing that was looked at: ok, or what is wrong.",
    "category": "The kind of unknown, where the input was one (42001-6.2.3).",
    "class": "The class that was predicted.",
    "columns": "The predictions as columns of one length, in place of `predictions`.",
    "commitment": "Where the public log holds its digest.",
    "completed_at": "When it was completed, in UTC; null while it is not.",
    "compliance": "Level and status after ERS; null while it is not completed.",
    "confidence": "Confidence in the answer given, from 0 to 1.",
    "correct": "Whether the answer was right; null where nobody knows.",
    "corrected": "Rows that replaced a value; both are kept.",
    "coverage_ok": "Whether as many bins hold records as ERS 3.1 asks for.",
    "covered_bins": "Bins of confidence, of ten, that hold records.",
    "created_at": "When it was made, in UTC.",
    "data_source": "Where the records will come from, in words.",
    "dataset": "What the data are, and whether they suffice for a certificate.",
    "dataset_digest": "Digest over the columns of the data set.",
    "dataset_id": "The caller's id of the data set, a UUID.",
    "days": "Days from the first to the last record.",
    "declaration": "What the operator declares beyond the numbers.",
    "delay": "Days until the truth about a prediction is known.",
    "detail": "More about it.",
    "detected": "Whether the system flagged the input as unknown to it.",
    "digest": "SHA-256 of what it names.",
    "disabled_at": "When the endpoint was given up after too many failures; null while it is told.",
    "document": "The signed document.",
    "domain": "Field of use; it has a part in the score.",
    "ece": "Expected calibration error, from 0 to 1.",
    "end": "The last moment.",
    "engine": "The program that measured, with its version.",
    "entropy": "The random part of the signal, in hex.",
    "entry_digest": "SHA-256 of the entry in the log.",
    "error": "Why it failed; null where it did not.",
    "errors": "The places in the body that are wrong.",
    "ers": "Score of risk, an integer from 0 to 100; less is better.",
    "evaluation_id": "The id of the evaluation.",
    "evaluations": "How many evaluations there were.",
    "evaluations_per_month": "Evaluations a month; null where there is no limit.",
    "event": "What the message tells of.",
    "events": "Kinds of events.",
    "expected": "The value that is expected.",
    "expires_at": "When it ends, in UTC; null where it does not.",
    "failures": "Deliveries that failed one after the other.",
    "false_alarms": "How many false alarms are tolerated, such as `1 per year`.",
    "finished_at": "When it was finished, in UTC; null while it is not.",
    "global_ece": "ECE over all records; null while they are few.",
    "global_u_recall": "U-Recall in percent over all records; null while they are few.",
    "ground_truth": "Number of records by where their truth comes from.",
    "ground_truth_source": "Where the truth comes from.",
    "group": "What the record belongs to, where intervals must not count records one by one: a patient, a document.",
    "half": "Which half of the record was replaced.",
    "horizon": "Days after which a prediction without truth counts as never answered.",
    "id": "Its id.",
    "instance": "The path of the request.",
    "issued_at": "When it was issued, in UTC.",
    "items": "The items of this page.",
    "job": "The job that works on it; null where none does.",
    "key": "The key, shown this once.",
    "kind": "What kind of work it is.",
    "largest_share": "Share of the records in the largest class.",
    "last_answer": "What the endpoint answered last.",
    "last_used_at": "When it was last used, in UTC; null where it never was.",
    "least_records": "How many records there will be at least.",
    "level": "Level after ERS.",
    "log_index": "Where the log holds it.",
    "metrics": "The numbers; null while there are none.",
    "model_id": "The id of the system, chosen by its organisation.",
    "model_version": "The version of the system.",
    "month": "Calendar month in UTC.",
    "months": "Use by month, the newest first.",
    "name": "Its name.",
    "nearest": "The nearest limit.",
    "needs": "What each number needs.",
    "new": "Rows that were not known before.",
    "next": "The cursor of the page after; null on the last.",
    "notes": "What should be known beside the numbers.",
    "number": "Its number, counted up.",
    "obstacles": "What stands in the way of a certificate, each with its clause.",
    "onto_42001": "The assessment after ONTO 42001; null where the records do not allow it.",
    "onto_domain": "Domain of ONTO 42001.",
    "organization": "The name of the organisation.",
    "outcomes": "The truth about predictions.",
    "overlap_hours": "Hours for which the replaced key lives on.",
    "period": "First and last moment of the data; null without timestamps.",
    "pointer": "JSON pointer to the place.",
    "power": "Probability with which the verdict becomes firm.",
    "predictions": "The predictions as rows.",
    "preregistration": "The id of the pre-registration that it keeps.",
    "probabilities": "Probability of each class.",
    "question": "The question that was answered, where it was asked several times; intervals count questions.",
    "quota": "Evaluations a month; null where there is no limit.",
    "reason": "Why, in words that everybody may see.",
    "refused": "Rows of windows whose records are gone.",
    "registered_at": "When the log took it in, in UTC.",
    "remaining": "What is left of the month; null where there is no limit.",
    "repeated": "Rows that said what was known already.",
    "requests_per_minute": "Requests a minute.",
    "resets_at": "When the next month begins, in UTC.",
    "revoked_at": "When it was revoked, in UTC; null where it was not.",
    "risk": "Class of the score; null where the data do not suffice for a level.",
    "rows": "How many rows are needed; null where no number would do.",
    "sample_size": "Number of labelled records.",
    "sample_size_ok": "Whether there are as many records as ERS 3.1 asks for.",
    "scopes": "What the key may do.",
    "secret": "The secret that signs the messages, shown this once.",
    "signal_delay_seconds": "Seconds after which the tier sees a signal.",
    "signal_id": "The id of the signal.",
    "slices": "Groups that the record belongs to, by name.",
    "source": "Where the truth comes from.",
    "span_ok": "Whether the data span as many days as ERS 3.1 asks for.",
    "spec_version": "Version of the standard.",
    "start": "The first moment.",
    "state": "Where it stands.",
    "status": "Where it stands.",
    "strategy": "How the bins are cut.",
    "subject": "What it is about.",
    "system_id": "The id of the system, chosen by its organisation.",
    "tier": "The tier of the organisation.",
    "time": "When, with its offset from UTC.",
    "timestamp": "When, with its offset from UTC.",
    "title": "The kind of problem in words.",
    "tolerance": "Calibration error that is tolerated.",
    "trace": "Finds the request in the server's log.",
    "truth": "The label that came true.",
    "ttl": "Seconds for which it is good.",
    "type": "The address of a page about this kind of problem.",
    "u_recall": "Of the wrong answers, the percentage given with low confidence.",
    "unknown_threshold": "Confidence below which an input counts as flagged.",
    "weights": "Weights of ORS.",
    "weights_reason": "Why the weights of ORS were changed.",
    "unknown": "Whether the input was one that the system could not know.",
    "unlabelled": "Records without truth, counted and left out.",
    "url": "The address that is told.",
    "waiting": "Outcomes whose prediction has not come yet.",
}


def describe(components: dict[str, Any], kinds: Iterable[type]) -> None:
    """Put a sentence to every field of the schemas."""
    said = {kind.__name__: _below(kind) for kind in _with_inner(kinds)}
    for name, schema in components.items():
        for field, one in schema.get("properties", {}).items():
            sentence = said.get(name, {}).get(field, WORDS.get(field))
            if sentence is not None:
                one.setdefault("description", sentence)


def _with_inner(kinds: Iterable[type]) -> set[type]:
    """The types, and the structs that their modules define beside them."""
    modules = {inspect.getmodule(kind) for kind in kinds}
    found = {one for module in modules for one in vars(module).values() if inspect.isclass(one)}
    return {one for one in found if issubclass(one, msgspec.Struct) and one is not msgspec.Struct}


def _below(kind: type) -> dict[str, str]:
    """The sentences that stand below the fields of a struct and of those it is built on."""
    made: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        if one in (object, msgspec.Struct) or not issubclass(one, msgspec.Struct):
            continue
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(one))).body
        assert isinstance(body, ast.ClassDef)
        for field, after in zip(body.body, body.body[1:], strict=False):
            match field, after:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(sentence))):
                    made[name] = " ".join(sentence.split())
    return made
