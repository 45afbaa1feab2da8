"""Values beyond the bounds that the OpenAPI document states, for every field of every body and every parameter of a query."""

import copy
import json
import re

LONG = "x" * 20_000
HUGE = (2**63, -(2**63) - 1, 10**400, 1e308, -1e308)
NO_TYPE = {"string": 17, "integer": "many", "number": "much", "boolean": "perhaps", "array": 17, "object": [17]}
"""For every type of JSON a value of another."""


class Probes:
    """All probes of a document: `bodies` and `queries` give (method, path, what is sent, pointer, must it be refused)."""

    def __init__(self, document):
        self._document = document

    def bodies(self):
        for path, method, operation in self._operations():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if content is None:
                continue
            example = content["example"]
            schema = self._resolved(content["schema"])
            for pointer, value, refused in self._beyond(schema, example, ()):
                yield method, path, changed(example, pointer, value), pointer, refused
            for name in schema.get("required", ()):
                yield method, path, {key: one for key, one in example.items() if key != name}, (name,), True

    def queries(self):
        for path, method, operation in self._operations():
            for one in operation.get("parameters", ()):
                if one["in"] != "query":
                    continue
                for form in self._forms(one["schema"]):
                    for value, refused in self._values(form):
                        if value is None or isinstance(value, dict | list | bool):
                            continue
                        # In a query everything is text: a number is a word as good as any other.
                        refused &= form["type"] != "string" or isinstance(value, str)
                        yield method, path, {one["name"]: str(value)}, (one["name"],), refused

    def paths(self):
        for path, method, operation in self._operations():
            for one in operation.get("parameters", ()):
                if one["in"] == "path":
                    for text in (
                        "%00",
                        "%ED%A0%80",
                        "%F0%9F%92%A9",
                        "-1",
                        str(10**400),
                        "1e308",
                        "x" * 5000,
                        "..%2f..",
                        "%2e%2e",
                    ):
                        yield method, path.replace("{" + one["name"] + "}", text)

    def _operations(self):
        for path, operations in self._document["paths"].items():
            for method, operation in operations.items():
                yield path, method, operation

    def _resolved(self, schema):
        while "$ref" in schema:
            schema = self._document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return schema

    def _forms(self, schema):
        """The schemas of which one must fit; null has none."""
        schema = self._resolved(schema)
        for name in ("anyOf", "oneOf"):
            if name in schema:
                return [form for one in schema[name] for form in self._forms(one)]
        kinds = schema.get("type")
        if isinstance(kinds, list):
            return [{**schema, "type": kind} for kind in kinds if kind != "null"]
        return [] if kinds == "null" else [schema]

    def _nullable(self, schema):
        schema = self._resolved(schema)
        kinds = [one.get("type") for name in ("anyOf", "oneOf") for one in schema.get(name, ())] + [schema.get("type")]
        return "null" in kinds or any(isinstance(kind, list) and "null" in kind for kind in kinds)

    def _beyond(self, schema, example, pointer):
        """(pointer, value, whether the document forbids it) for a field and all that is in it."""
        forms = self._forms(schema)
        if pointer and not self._nullable(schema) and forms and all("type" in form for form in forms):
            yield pointer, None, True
        kinds = {form.get("type") for form in forms}
        for form in forms:
            for value, refused in self._values(form):
                kind = "string" if isinstance(value, str) else None
                # A value that is beyond one form may be sound in another.
                alone = len(forms) == 1 or (kind is None and not kinds & {"integer", "number"})
                if pointer:
                    yield pointer, value, refused and alone and "type" in form
            if form.get("type") == "object":
                if form.get("additionalProperties") is False:
                    yield (*pointer, "nobody-knows-this"), 1, True
                inner = example if isinstance(example, dict) else {}
                for name, one in form.get("properties", {}).items():
                    yield from self._beyond(one, inner.get(name), (*pointer, name))
            if form.get("type") == "array" and isinstance(example, list) and example:
                yield from self._beyond(form.get("items", {}), example[0], (*pointer, 0))

    def _values(self, form):
        kind = form.get("type")
        if kind is None:
            return
        yield NO_TYPE[kind], True
        if "enum" in form or "const" in form:
            yield "nobody-lists-this", True
        if kind == "string":
            most = form.get("maxLength")
            yield "y" * (most + 1) if most is not None else LONG, most is not None
            if form.get("minLength", 0) > 0:
                yield "", True
            if "pattern" in form:
                yield from ((text, True) for text in ("\u0000", "é" * 5, " ") if not re.search(form["pattern"], text))
            yield "a\u0000b", False
            yield "\ud800", False
            yield "\u202e\uffff", False
        if kind in ("integer", "number"):
            for bound, step in (("minimum", -1), ("maximum", 1), ("exclusiveMinimum", 0), ("exclusiveMaximum", 0)):
                if bound in form:
                    yield form[bound] + step, True
            for value in HUGE:
                below = value < form.get("minimum", form.get("exclusiveMinimum", -float("inf")))
                above = value > form.get("maximum", form.get("exclusiveMaximum", float("inf")))
                yield value, below or above or (kind == "integer" and isinstance(value, float))
            if kind == "integer":
                yield 1.5, True
        if kind == "array":
            if form.get("minItems", 0) > 0:
                yield [], True
            yield [None] * 3, self._forms(form.get("items", {})) != [] and not self._nullable(form.get("items", {}))
            if "maxItems" in form:
                yield ["z"] * (form["maxItems"] + 1), True


def changed(body, pointer, value):
    """The body with one value in the place of another."""
    made = copy.deepcopy(body)
    place = made
    for name in pointer[:-1]:
        if isinstance(place, dict) and name not in place:
            place[name] = {}
        place = place[name]
        if place is None:
            return made
    place[pointer[-1]] = value
    return made


def written(body):
    """The body as JSON: whole numbers of any length, and halves of surrogates as they would come."""
    return json.dumps(body).encode()
