"""Strict reading of Base64 and JSON."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence, Tuple, Union

depth_max = 100
"""A text that is deeper would end programs that walk it by calling themselves."""

Json = Dict[str, Any]


def base64_bytes(text: str) -> Optional[bytes]:
    """Decodes standard Base64 (RFC 4648). None: not the one text of these bytes."""
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return decoded if base64.b64encode(decoded).decode() == text else None


def base64_hash(text: Any) -> Optional[bytes]:
    decoded = base64_bytes(text) if isinstance(text, str) else None
    return decoded if decoded is not None and len(decoded) == 32 else None


def matches(pattern: str) -> Callable[[Any], bool]:
    compiled = re.compile(pattern)
    return lambda value: isinstance(value, str) and compiled.fullmatch(value) is not None


def is_text(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def has_members(value: Any, names: Sequence[str]) -> bool:
    return isinstance(value, dict) and set(value) == set(names)


def canonical(value: Any) -> str:
    """Canonical JSON (RFC 8785) of a value whose names are ASCII and whose numbers are integers."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def parsed(text: str) -> Any:
    """Parses JSON without repeated names. Raises ValueError or RecursionError."""

    def distinct(pairs: List[Tuple[str, Any]]) -> Json:
        members = dict(pairs)
        if len(members) < len(pairs):
            raise ValueError("a name is repeated")
        return members

    def no_constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is not JSON")

    # Python refuses integers of thousands of digits.
    def number(digits: str) -> Union[int, float]:
        return int(digits) if len(digits) < 20 else float(digits)

    return json.loads(text, object_pairs_hook=distinct, parse_constant=no_constant, parse_int=number)


def _depth(text: str) -> int:
    depth = deepest = 0
    for token in re.findall(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]', text):
        if token in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif token in "}]":
            depth -= 1
    return deepest


def parsed_object(text: str) -> Optional[Json]:
    """None: the text is no JSON object, or it is deeper than 100, or a name is repeated."""
    if _depth(text) > depth_max:
        return None
    try:
        value = parsed(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
