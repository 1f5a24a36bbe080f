"""Values as plain JSON, because the decided and the executed parameters must be the same."""

from __future__ import annotations

import json
import math
from typing import Any, Dict, Mapping, Tuple


def plain_content(params: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns a copy of an action's parameters.

    Raises TypeError or ValueError for a value that JSON would lose or change (a datetime, a tuple, an Enum, infinity),
    because the action would run with undecided values. The error names the first place. -0.0 becomes 0.0.
    """
    if not isinstance(params, dict):
        raise TypeError("the parameters of an action must be a dict")
    content: Dict[str, Any] = _plain(params, "params", ())
    return content


def body_text(body: Any) -> bytes:
    """Returns a body as JSON. Raises TypeError or ValueError for a value that JSON would lose or change."""
    return json.dumps(_plain(body, "body", ()), allow_nan=False, separators=(",", ":")).encode("ascii")


def _plain(value: Any, place: str, around: Tuple[int, ...]) -> Any:
    # Exact types, because an Enum can be a str or an int, and JSON would lose its class.
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        if not math.isfinite(value):
            raise ValueError(f"nothing was sent: {place} is {value}, which JSON cannot write")
        return value if value != 0 else 0.0
    if not isinstance(value, (dict, list)):
        kind = type(value).__name__
        raise TypeError(f"nothing was sent: {place} is an instance of {kind}: use values that JSON can represent")
    if id(value) in around:
        raise ValueError(f"nothing was sent: {place} contains itself, which JSON cannot represent")
    within = (*around, id(value))
    if isinstance(value, list):
        return [_plain(each, f"{place}[{index}]", within) for index, each in enumerate(value)]
    for name in value:
        if type(name) is not str:
            raise TypeError(f"nothing was sent: {place} has the key {name!r}: keys in JSON are texts")
    return {name: _plain(member, f"{place}.{name}", within) for name, member in value.items()}
