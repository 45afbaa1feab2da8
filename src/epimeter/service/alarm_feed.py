# SPDX-License-Identifier: Apache-2.0
"""The events of a system's monitor as an Atom feed (RFC 4287)."""

from __future__ import annotations

import hashlib
from xml.etree import ElementTree

from epimeter.monitor.history import History

SPACE = "http://www.w3.org/2005/Atom"
MOST = 100


def atom(history: History, system: str, address: str) -> bytes:
    """The newest events, the newest first."""
    events = [event for event in history.events if event["event"].startswith("alarm.")][-MOST:][::-1]
    root = ElementTree.Element("feed", xmlns=SPACE)
    _say(root, "title", f"Alarms of {system}")
    _say(root, "id", f"{address}/v1/systems/{system}/alarms.atom")
    _say(root, "updated", _moment(events[0]["as_of"]) if events else _moment(history.as_of or "1970-01-01"))
    author = ElementTree.SubElement(root, "author")
    _say(author, "name", "epimeter")
    for event in events:
        entry = ElementTree.SubElement(root, "entry")
        facts = f"{event['event']} {event['alarm']} {event['as_of']} {event.get('state', '')}"
        _say(entry, "title", f"{event['event']}: {event['alarm']}")
        _say(entry, "id", f"urn:sha256:{hashlib.sha256(facts.encode()).hexdigest()}")
        _say(entry, "updated", _moment(event["as_of"]))
        _say(entry, "content", event.get("sentence") or event.get("why") or event.get("state", ""))
    made: str = ElementTree.tostring(root, encoding="unicode")
    return b'<?xml version="1.0" encoding="utf-8"?>\n' + made.encode()


def _say(parent: ElementTree.Element, name: str, text: str) -> None:
    ElementTree.SubElement(parent, name).text = text


def _moment(window: str) -> str:
    return f"{window[:10]}T{window[11:13] or '00'}:00:00Z"
