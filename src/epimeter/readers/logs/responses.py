# SPDX-License-Identifier: Apache-2.0
"""Responses of language-model interfaces: their text, and the log-probabilities beside it, in the shapes that are about."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from epimeter.readers.logs.answer import Token

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
NAMED = re.compile(
    r"(?:final\s+|exact\s+|correct\s+)*(?:answer|option|choice)\s*(?:is|:|=)+\s*[*_(\[\"'$\\]*(?:boxed\{|text\{)?\s*(?P<answer>[^\n]{1,200})",
    re.IGNORECASE,
)


@functools.lru_cache(64)
def labels(count: int) -> tuple[str, ...]:
    """The letters of so many options, then numbers."""
    return tuple(LETTERS[i] if i < len(LETTERS) else str(i - len(LETTERS) + 1) for i in range(count))


def content(message: Any) -> str:
    """The text of a message: plain, or of its parts; reasoning parts left aside."""
    if isinstance(message, str):
        return message
    if isinstance(message, dict):
        for key in ("text", "content", "value"):
            if key in message and message.get("type") not in ("reasoning", "thinking"):
                return content(message[key])
        return ""
    if isinstance(message, list):
        return "\n".join(filter(None, map(content, message)))
    return ""


def tokens(logprobs: Any) -> list[Token] | None:
    """Tokens from any shape: chat (`content`), responses (a list), completions (parallel lists)."""
    if isinstance(logprobs, dict) and isinstance(logprobs.get("token_logprobs"), list):
        return _parallel(logprobs)
    listed = logprobs.get("content") if isinstance(logprobs, dict) else logprobs
    if not isinstance(listed, list) or not listed:
        return None
    made = []
    for entry in listed:
        if not isinstance(entry, dict) or not isinstance(entry.get("logprob"), int | float):
            return None
        made.append(Token(str(entry.get("token", "")), float(entry["logprob"]), list(_top(entry.get("top_logprobs")))))
    return made


def _top(entries: Any) -> Iterator[tuple[str, float]]:
    if isinstance(entries, dict):  # token to log-probability
        entries = [{"token": token, "logprob": logprob} for token, logprob in entries.items()]
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("logprob"), int | float):
            yield str(entry.get("token", "")), float(entry["logprob"])


def _parallel(logprobs: dict[str, Any]) -> list[Token] | None:
    """The shape of the completions endpoint; the first token of an echoed prompt has no log-probability."""
    texts, values = logprobs.get("tokens") or [], logprobs["token_logprobs"]
    tops: Sequence[Any] = logprobs.get("top_logprobs") or [None] * len(values)
    made = [
        Token(str(text), float(value), list(_top(top)))
        for text, value, top in zip(texts, values, tops, strict=False)
        if isinstance(value, int | float)
    ]
    return made or None


@dataclass(frozen=True, slots=True)
class Said:
    """One answer in a response: its text and tokens, or why there is none."""

    text: str | None
    tokens: list[Token] | None
    why: str | None = None
    refused: bool = False


def bodies(response: dict[str, Any]) -> list[Said]:
    """The answers in one response of a chat, completions or responses endpoint: one a choice (`n` of the request)."""
    choices = response.get("choices")
    if isinstance(choices, list) and choices:
        return [_choice(choice) if isinstance(choice, dict) else Said(None, None, "error") for choice in choices]
    found: list[str] = []
    made: list[Token] = []
    refused = False
    for item in response.get("output") or ():
        for part in (
            item.get("content") or () if isinstance(item, dict) and item.get("type", "message") == "message" else ()
        ):
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                found.append(part["text"])
                made += tokens(part.get("logprobs")) or []
            refused = refused or (isinstance(part, dict) and part.get("type") == "refusal")
    why = "limit" if response.get("status") == "incomplete" and not found else None
    return [Said("\n".join(found) if found else None, made or None, why, refused and not found)]


def _choice(choice: dict[str, Any]) -> Said:
    message = choice.get("message")
    text = choice["text"] if isinstance(choice.get("text"), str) else content(message)
    refused = isinstance(message, dict) and bool(message.get("refusal")) and not text
    ended = choice.get("finish_reason")
    why = None
    if not text.strip():
        why = "limit" if ended == "length" else "error"
    if ended == "content_filter":
        why = "error"
    return Said(text, tokens(choice.get("logprobs")), None if refused else why, refused)


def named_answer(text: str) -> str:
    """The answer that a text names last («Answer: B»), or the whole text."""
    found = list(NAMED.finditer(text))
    if not found:
        return text.strip()
    return found[-1]["answer"].strip().rstrip("*_)]}\"'$. ").strip()


def same(answer: str, expected: str) -> bool:
    """Whether an answer is the expected one: case, spaces and marks aside; a letter also as «B) …»; numbers by value."""
    given, wanted = (" ".join(text.split()).strip(" .,*_()[]\"'$").casefold() for text in (answer, expected))
    if given == wanted:
        return True
    if len(wanted) == 1 and wanted.isalpha():
        return bool(re.match(rf"\W*{wanted}(?:[\W_]|$)", given))
    try:
        return math.isclose(float(given.replace(",", "")), float(wanted.replace(",", "")), rel_tol=1e-12)
    except ValueError:
        return False
