# SPDX-License-Identifier: Apache-2.0
"""The service seen from outside: `epimeter.Client`.

Only the standard library goes over the wire, so that sending predictions needs no extra. What the service asks to wait for
is waited for: after 429 and 503 as long as `Retry-After` says, after a broken connection a little longer each time. A request
that changes something carries an `Idempotency-Key`, so that sending it again does not do it again.
"""

from __future__ import annotations

import http.client
import itertools
import random
import ssl
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec

from epimeter.errors import EpimeterError, InputError
from epimeter.forecasts import COLUMNS as FORECAST
from epimeter.service.schemas import (
    CertificateState,
    Evaluation,
    EvaluationLine,
    EvaluationPage,
    KeyLine,
    KeyPage,
    NewKey,
    Preregistration,
    RegistryLine,
    RegistryPage,
    Signal,
    Usage,
)
from epimeter.sources.forecast_arrow import forecast_stream

ARROW = "application/vnd.apache.arrow.stream"
SUMMARY = "application/vnd.epimeter.summary"
LONGEST_WAIT = 120.0
ISSUING = 900.0
"""Seconds to wait for a certificate: longer than a server works on one."""
T = TypeVar("T")


class ServiceError(EpimeterError):
    """What the service refuses.

    Attributes
    ----------
    status, kind
        HTTP status and kind of problem, as `rate-limited`; status 0 when there was no answer.
    errors
        Places in the body and what is wrong there.
    trace
        Finds the request in the server's log.
    """

    def __init__(
        self, message: str, *, status: int, kind: str = "", errors: list[dict[str, str]] | None = None, trace: str = ""
    ) -> None:
        super().__init__(message)
        self.status, self.kind, self.errors, self.trace = status, kind, errors or [], trace


class Client:
    """A connection to a service.

    Parameters
    ----------
    url
        Where it is, as ``https://registry.example``.
    key
        An API key; without one only what is public can be had.
    timeout
        Seconds to wait for an answer.
    retries
        How often a request is sent again.

    Examples
    --------
    >>> client = Client("http://127.0.0.1:8600", "onto_live_…")
    >>> found = client.evaluate(correct, confidence, model_id="triage")  # doctest: +SKIP
    >>> found.metrics.ece  # doctest: +SKIP
    0.0742
    """

    def __init__(self, url: str, key: str | None = None, *, timeout: float = 120.0, retries: int = 6) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"url must be an http or https address; got {url!r:.80}", field="url")
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, parts.port
        self._prefix, self._key = parts.path.rstrip("/"), key
        self._timeout, self._retries = timeout, retries
        self._connection: http.client.HTTPConnection | None = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def evaluate(
        self,
        correct: Any,
        confidence: Any,
        *,
        model_id: str,
        domain: str = "general",
        model_version: str | None = None,
        dataset_id: str | None = None,
        metrics: list[str] | None = None,
        preregistration: str | None = None,
        onto_domain: str | None = None,
        strategy: str | None = None,
        declaration: Mapping[str, Any] | None = None,
        new_baseline: str | None = None,
        weights: Sequence[float] | None = None,
        weights_reason: str | None = None,
        unknown_threshold: float | None = None,
        wait: bool = True,
        **columns: Any,
    ) -> Evaluation:
        """Submit predictions; with `wait`, a job is waited for.

        Parameters
        ----------
        correct, confidence
            One entry a prediction; `correct` may be None where nobody knows, and then `confidence` too.
        onto_domain, strategy, declaration, new_baseline, weights, weights_reason, unknown_threshold
            For ONTO 42001, which the column `unknown` asks for: its domain, the binning strategy, the tables of a declaration
            file, why another method begins, the weights of ORS and why they are others, the confidence below which an input
            counts as flagged.
        columns
            Any of `timestamp`, `id`, `ground_truth_source`, `classes`, `unknown`, `detected`, `category`; `question` or `group`
            where several records belong together and are no evidence of their own.
        """
        query = {"model_id": model_id, "domain": domain, "model_version": model_version, "dataset_id": dataset_id}
        query |= {"metrics": None if metrics is None else ",".join(metrics), "preregistration": preregistration}
        query |= {"onto_domain": onto_domain, "strategy": strategy, "new_baseline": new_baseline}
        query |= {
            "weights": None if weights is None else ",".join(map(repr, weights)),
            "weights_reason": weights_reason,
        }
        query |= {"unknown_threshold": None if unknown_threshold is None else repr(unknown_threshold)}
        query["declaration"] = None if declaration is None else msgspec.json.encode(declaration).decode("utf-8")
        return self._evaluated(_stream({"confidence": confidence, "correct": correct, **columns}), query, wait)

    def evaluate_forecasts(
        self,
        y_true: Any,
        *,
        model_id: str,
        domain: str = "general",
        model_version: str | None = None,
        dataset_id: str | None = None,
        metrics: list[str] | None = None,
        level: float | None = None,
        sample_weight: Any = None,
        groups: Any = None,
        unlabelled: int = 0,
        wait: bool = True,
        **stated: Any,
    ) -> Evaluation:
        """Submit forecasts of a number or of a set; they have a report, and earn no level.

        Parameters
        ----------
        y_true
            What came true; None (of numbers: NaN too) where nobody knows.
        level
            Coverage that intervals or sets claim; None is 0.9.
        sample_weight, groups
            As in `epimeter.evaluate_forecasts`.
        unlabelled
            Rows that are not among these because their truth is not known; they are counted.
        stated
            The forecast: ``mean`` with ``std`` or ``variance``; ``quantiles``; ``members``; ``lower`` and ``upper``; ``sets``;
            ``rate``.
        """
        for name in stated:
            if name not in FORECAST:
                raise InputError(f"a forecast is stated by {', '.join(FORECAST)}; got {name!r:.40}", field=name)
        query = {"model_id": model_id, "domain": domain, "model_version": model_version, "dataset_id": dataset_id}
        query |= {"metrics": None if metrics is None else ",".join(metrics)}
        query["level"] = None if level is None else repr(float(level))
        given = {name: values for name, values in stated.items() if values is not None}
        body = forecast_stream(y_true, given, weight=sample_weight, group=groups, unlabelled=unlabelled)
        return self._evaluated(body, query, wait)

    def evaluate_summary(
        self,
        summary: bytes,
        *,
        model_id: str,
        domain: str = "general",
        model_version: str | None = None,
        dataset_id: str | None = None,
        preregistration: str | None = None,
    ) -> Evaluation:
        """Submit a summary that was made with evidence (``epimeter summarise --evidence``): the records stay where they are."""
        query = {"model_id": model_id, "domain": domain, "model_version": model_version, "dataset_id": dataset_id}
        query["preregistration"] = preregistration
        return self._typed(Evaluation, "POST", "/v1/evaluate", query, summary, SUMMARY)

    def wait(self, evaluation_id: str, *, seconds: float = 3600.0) -> Evaluation:
        """The evaluation once its job is done."""
        end, pause = time.monotonic() + seconds, 0.2
        while True:
            found = self.evaluation(evaluation_id)
            if found.status != "queued":
                return found
            if time.monotonic() > end:
                raise ServiceError(f"evaluation {evaluation_id} is still queued after {seconds:g} s", status=0)
            time.sleep(pause)
            pause = min(5.0, pause * 1.5)

    def evaluation(self, evaluation_id: str) -> Evaluation:
        """One evaluation."""
        return self._typed(Evaluation, "GET", f"/v1/evaluations/{evaluation_id}")

    def evaluations(self, *, model_id: str | None = None) -> Iterator[EvaluationLine]:
        """All evaluations, the newest first."""
        cursor: str | None = None
        while True:
            query = {"model_id": model_id, "cursor": cursor, "limit": "200"}
            page = self._typed(EvaluationPage, "GET", "/v1/evaluations", query)
            yield from page.items
            cursor = page.next
            if cursor is None:
                return

    def report(self, evaluation_id: str, form: str = "application/json") -> bytes:
        """The report of an evaluation: application/json, text/html, text/markdown or text/plain."""
        return self._request("GET", f"/v1/evaluations/{evaluation_id}/report", headers={"Accept": form})

    def passport(self, evaluation_id: str, form: str = "application/pdf") -> bytes:
        """The passport of an evaluation that allows a certificate: application/pdf or application/json."""
        return self._request("GET", f"/v1/evaluations/{evaluation_id}/passport", headers={"Accept": form})

    def usage(self) -> Usage:
        """What was used and what is left."""
        return self._typed(Usage, "GET", "/v1/usage")

    def preregister(
        self, *, model_id: str, model_version: str, aim: str, data_source: str, domain: str = "general", **more: Any
    ) -> Preregistration:
        """Say beforehand what will be measured; `least_records` and `dataset_digest` may be said too."""
        said = {"model_id": model_id, "model_version": model_version, "aim": aim, "data_source": data_source}
        body = msgspec.json.encode({**said, "domain": domain, **more})
        return self._typed(Preregistration, "POST", "/v1/preregistrations", None, body)

    def certify(self, evaluation_id: str, *, model_digests: list[str] | None = None) -> bytes:
        """The certificate of an evaluation, issued now or before; to be kept as it is."""
        body = msgspec.json.encode({"evaluation_id": evaluation_id, "model_digests": model_digests or []})
        return self._request("POST", "/v1/certificates", None, body, patience=ISSUING)

    def certificate(self, certificate_id: str) -> bytes:
        """A certificate, as it was handed out."""
        return self._request("GET", f"/v1/certificates/{certificate_id}")

    def status(self, certificate_id: str) -> str:
        """The live status of a certificate: VALID, REVOKED, …"""
        return self._typed(CertificateState, "GET", f"/v1/certificates/{certificate_id}/status").status

    def revoke(self, certificate_id: str, reason: str) -> None:
        """Revoke a certificate; everybody will see the reason."""
        self._request(
            "POST", f"/v1/certificates/{certificate_id}/revoke", None, msgspec.json.encode({"reason": reason})
        )

    def registry(self, **wanted: str) -> Iterator[RegistryLine]:
        """The public registry, by organization, system_id, domain or level."""
        cursor: str | None = None
        while True:
            page = self._typed(RegistryPage, "GET", "/v1/registry", {**wanted, "cursor": cursor, "limit": "200"})
            yield from page.items
            cursor = page.next
            if cursor is None:
                return

    def signal(self) -> Signal:
        """The newest signal that the caller's tier may see."""
        return self._typed(Signal, "GET", "/v1/signal/status")

    def make_key(self, name: str, scopes: list[str], **more: Any) -> NewKey:
        """A new key, whose text is shown this once; `expires_at`, `replaces`, `overlap_hours`, `organization` may be said."""
        body = msgspec.json.encode({"name": name, "scopes": scopes, **more})
        return msgspec.json.decode(self._request("POST", "/v1/auth/api-keys", None, body, again=False), type=NewKey)

    def keys(self) -> Iterator[KeyLine]:
        """All keys of the organisation, without their texts."""
        cursor: str | None = None
        while True:
            page = self._typed(KeyPage, "GET", "/v1/auth/api-keys", {"cursor": cursor, "limit": "200"})
            yield from page.items
            cursor = page.next
            if cursor is None:
                return

    def end_key(self, key_id: str) -> None:
        """End a key at once."""
        self._request("DELETE", f"/v1/auth/api-keys/{key_id}")

    def _evaluated(self, stream: bytes, query: Mapping[str, str | None], wait: bool) -> Evaluation:
        made = self._typed(Evaluation, "POST", "/v1/evaluate", query, stream, ARROW)
        return self.wait(made.evaluation_id) if wait and made.status == "queued" else made

    def _typed(
        self,
        kind: type[T],
        method: str,
        path: str,
        query: Mapping[str, str | None] | None = None,
        body: bytes | None = None,
        media: str = "application/json",
    ) -> T:
        data = self._request(method, path, query, body, media)
        try:
            return msgspec.json.decode(data, type=kind)
        except msgspec.MsgspecError as fault:
            raise ServiceError(f"the service answered what this client does not know: {fault}", status=0) from None

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | None] | None = None,
        body: bytes | None = None,
        media: str = "application/json",
        headers: Mapping[str, str] | None = None,
        again: bool = True,
        patience: float = 0.0,
    ) -> bytes:
        said = {name: value for name, value in (query or {}).items() if value is not None}
        target = self._prefix + path + (f"?{urlencode(said)}" if said else "")
        sent = {"Accept": "application/json", **(headers or {})}
        if self._key is not None:
            sent["x-api-key"] = self._key
        if body is not None:
            sent |= {"Content-Type": media, "Idempotency-Key": str(uuid.uuid4())}
        end = time.monotonic() + patience
        for attempt in itertools.count():
            last = attempt >= self._retries and time.monotonic() >= end
            try:
                status, data, wait = self._once(method, target, body, sent, max(self._timeout, patience))
            except (OSError, http.client.HTTPException) as fault:
                self.close()
                # What cannot be done twice safely is not sent again when nobody knows whether it arrived.
                if last or not again or isinstance(fault, ssl.SSLError):
                    raise ServiceError(f"{self._host} does not answer: {fault}", status=0) from None
                time.sleep(min(10.0, 0.2 * 2.0 ** min(attempt, 10)) * random.uniform(0.5, 1.5))
                continue
            if status < 400:
                return data
            refusal = _refusal(status, data)
            again = status in (429, 503) or refusal.kind == "in-flight"
            if not again or last or wait > LONGEST_WAIT:
                raise refusal
            time.sleep(wait)
        raise AssertionError  # the loop returns or raises

    def _once(
        self, method: str, target: str, body: bytes | None, headers: dict[str, str], timeout: float
    ) -> tuple[int, bytes, float]:
        if self._connection is None:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            self._connection = kind(self._host, self._port, timeout=timeout)
        elif self._connection.sock is not None:
            self._connection.sock.settimeout(timeout)
        self._connection.request(method, target, body, headers)
        answer = self._connection.getresponse()
        data = answer.read()
        said = answer.getheader("Retry-After", "1")
        return answer.status, data, float(said) if said.isdigit() else 1.0


def _stream(columns: dict[str, Any]) -> bytes:
    """Columns as an Arrow IPC stream, in the types that the service reads."""
    import pyarrow as pa

    types = {
        "correct": pa.bool_(),
        "unknown": pa.bool_(),
        "detected": pa.bool_(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "id": pa.string(),
        "ground_truth_source": pa.string(),
        "class": pa.string(),
        "category": pa.string(),
        "question": pa.string(),
        "group": pa.string(),
    }
    given = {("class" if name == "classes" else name): column for name, column in columns.items() if column is not None}
    unknown = sorted(set(given) - set(types) - {"confidence"})
    if unknown:
        raise InputError(f"columns must be any of {', '.join(types)}; got {unknown[0]!r:.40}", field=unknown[0])
    arrays: dict[str, Any] = {}
    for name, column in given.items():
        made = column if isinstance(column, pa.Array | pa.ChunkedArray) else pa.array(column)
        # Times are kept to the microsecond; pandas and numpy give nanoseconds.
        arrays[name] = made.cast(types[name], safe=name != "timestamp") if name in types else made
    table = pa.table(arrays)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _refusal(status: int, data: bytes) -> ServiceError:
    try:
        found = msgspec.json.decode(data, type=dict)
    except msgspec.MsgspecError:
        return ServiceError(f"the service answered {status}", status=status)
    return ServiceError(
        str(found.get("detail", f"the service answered {status}")),
        status=status,
        kind=str(found.get("type", "")).removeprefix("/problems/"),
        errors=found.get("errors", []),
        trace=str(found.get("trace", "")),
    )
