# SPDX-License-Identifier: Apache-2.0
"""The stub of `epimeter.metrics`: what type checkers and editors know of metrics that are entered by their cards.

A metric is an object, so each gets a class whose call has the parameters of its card. ``python -m epimeter.generate``
writes it.
"""

from __future__ import annotations

import inspect
import math
from typing import Any

from epimeter.calling import Metric, summary_line
from epimeter.parameters import Parameter

WORDS = {int: "int", float: "float", bool: "bool", str: "str"}
HEAD = '''# SPDX-License-Identifier: Apache-2.0
"""Every metric of the catalogue, by its name. Made from the cards by ``python -m epimeter.generate``."""

from typing import Any, Literal
'''


def metrics_stub() -> str:
    """The whole stub."""
    import epimeter.metrics as entered

    metrics = [getattr(entered, name) for name in entered.__all__]
    local = _local_names([("epimeter.calling", "Metric"), *(returned(metric) for metric in metrics)])
    imports: dict[str, list[str]] = {}
    for (module, name), called in sorted(local.items()):
        imports.setdefault(module, []).append(name if name == called else f"{name} as {called}")
    lines = [HEAD.rstrip(), ""]
    lines += [f"from {module} import {', '.join(names)}" for module, names in sorted(imports.items())]
    lines += ["", "__all__ = ["] + [f'    "{name}",' for name in sorted(entered.__all__)] + ["]"]
    for metric in metrics:
        lines += ["", *_declared(metric, local.get(returned(metric), "Any"))]
    return "\n".join(lines) + "\n"


def returned(metric: Metric[Any]) -> tuple[str, str]:
    """Where the type of its answer is defined, and its name."""
    hint = inspect.signature(metric.compute, eval_str=True).return_annotation
    if hint is float:
        return "epimeter.results", "Number"
    if isinstance(hint, type) and hint.__module__.startswith("epimeter."):
        return hint.__module__, hint.__name__
    return "typing", "Any"


def _local_names(wanted: list[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """What the stub calls each type: two of one name are told apart by their families."""
    found: dict[tuple[str, str], str] = {}
    for module, name in sorted(set(wanted) - {("typing", "Any")}):
        family = module.split(".")[-2].title()
        found[module, name] = f"_{family}{name}" if name in found.values() else name
    return found


def _declared(metric: Metric[Any], answer: str) -> list[str]:
    named = "".join(part.title() for part in metric.name.split("_"))
    lines = [f"class _{named}(Metric[{answer}]):", "    def __call__("]
    lines += ["        self,"] + [f"        {argument}," for argument in _arguments(metric)]
    return [
        *lines,
        f"    ) -> {answer}:",
        f'        """{summary_line(metric.compute)}"""',
        "",
        f"{metric.name}: _{named}",
    ]


def _arguments(metric: Metric[Any]) -> list[str]:
    """The parameters of a call as the stub writes them."""
    made, keyword = [], False
    for parameter in metric.__signature__.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            made.append(f"**{parameter.name}: Any")
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            made.append(f"*{parameter.name}: Any")
            keyword = True
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword:
            made.append("*")
            keyword = True
        known = metric.parameters.get(parameter.name)
        type_ = "Any" if known is None else type_of(known)
        default = "" if parameter.default is parameter.empty else f" = {shown(parameter.default)}"
        made.append(f"{parameter.name}: {type_}{default}")
    their_words = _words_of_scikit_learn(metric) if keyword else []
    made += their_words if not made[-1].startswith("**") else []
    if metric.reads is None and not made[-1].startswith("**"):
        made += [*([] if keyword else ["*"]), "interval: Any = None"]
    return made


def _words_of_scikit_learn(metric: Metric[Any]) -> list[str]:
    """The names that a call takes in place of ours (`in_our_words`)."""
    known = metric.parameters
    made = ["n_bins: int = ..."] if "bins" in known and "n_bins" not in known else []
    if "strategy" not in known and {"width", "mass"} <= set(known["binning"].words if "binning" in known else ()):
        made.append('strategy: Literal["uniform", "quantile"] = ...')
    return made


def type_of(parameter: Parameter) -> str:
    """The type of a parameter."""
    parts = [WORDS[kind] for kind in parameter.kinds if kind in WORDS]
    if parameter.words:
        parts = [part for part in parts if part != "str"]
        parts.append(f"Literal[{', '.join(_quoted(word) for word in parameter.words)}]")
    if not parts or len(parts) < len(parameter.kinds):
        return "Any"
    if parameter.optional or parameter.default is None:
        parts.append("None")
    return " | ".join(dict.fromkeys(parts))


def shown(value: Any) -> str:
    """A default as source text; three dots where it has none."""
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return repr(value)
    return _quoted(value) if isinstance(value, str) else "..."


def _quoted(word: str) -> str:
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'
