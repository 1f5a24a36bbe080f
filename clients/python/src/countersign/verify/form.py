"""The form of a receipt: closed objects, canonical JSON, limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Union

from .note import integer_max
from .refused import refuse
from .texts import Json, base64_hash, canonical, has_members, is_text, matches, parsed, parsed_object

receipt_bytes_max = 32 * 1024 * 1024
entries_max = 1_000
keys_max = 16
proof_hashes_max = 53
"""A tree of 2⁵³ leaves has paths of 53 hashes."""


class Entry(NamedTuple):
    number: int
    """The index in the log."""
    leaf_text: str
    leaf: Json
    proof: List[bytes]
    documents: Dict[str, Optional[Json]]


@dataclass(frozen=True)
class VerifiedEntry:
    """An entry of the log, verified."""

    index: int
    type: str
    at: str
    """RFC 3339 UTC."""
    actor: str
    leaf: Json
    documents: Dict[str, Optional[Json]]
    """Parsed documents by name. None: erased, or withheld because a rule hides a value in it."""


class Form(NamedTuple):
    org_id: str
    intent_id: str
    checkpoint: str
    keys: List[str]
    entries: List[Entry]
    passkeys: List[Entry]
    """Registrations of the passkeys that signed rulings."""


_names = ["checkpoint", "entries", "format", "intent_id", "keys", "org_id"]


def receipt_form(receipt: Union[bytes, str]) -> Form:
    """Reads the bytes of a receipt. Raises `Refused`."""
    if len(receipt) > receipt_bytes_max:
        refuse("size", "the receipt is larger than 32 MiB")
    text = receipt if isinstance(receipt, str) else _text_of(receipt)
    value = _value_of(text)
    read: Any = value.get("format") if isinstance(value, dict) else None
    if is_text(read) and read != "countersign.receipt.v1":
        refuse("format", f'the receipt has the format "{read[:40]}", which is not known here')
    # Only receipts of signed rulings have it.
    further = ["passkeys"] if isinstance(value, dict) and "passkeys" in value else []
    if not has_members(value, [*_names, *further]):
        refuse("form", f"the receipt does not have exactly these members: {', '.join(_names)}")
    if not (
        is_text(read) and is_text(value["checkpoint"]) and _is_intent(value["intent_id"]) and _is_org(value["org_id"])
    ):
        refuse("form", "the receipt has a member of another kind than the format says")
    keys, entries = value["keys"], value["entries"]
    if not _is_list(keys, keys_max) or not all(is_text(key) for key in keys):
        refuse("form", f"the receipt does not have 1 to {keys_max} keys")
    if not _is_list(entries, entries_max):
        refuse("form", f"the receipt does not have 1 to {entries_max} entries")
    forms = [_entry_form(entry, at) for at, entry in enumerate(entries)]
    if further and not _is_list(value["passkeys"], entries_max):
        refuse("form", f"the receipt does not have 1 to {entries_max} registrations of passkeys")
    passkeys = [_entry_form(entry, at) for at, entry in enumerate(value["passkeys"] if further else [])]
    if canonical(value) != text:
        refuse("form", _not_canonical)
    return Form(value["org_id"], value["intent_id"], value["checkpoint"], keys, forms, passkeys)


_not_canonical = "the receipt is not canonical JSON: somebody formatted or changed it, or a name is repeated"


def _text_of(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        refuse("form", "the receipt is not UTF-8")


def _value_of(text: str) -> Any:
    try:
        return parsed(text)
    except (ValueError, RecursionError):
        refuse("form", "the receipt is not JSON")


def _is_list(value: Any, items_max: int) -> bool:
    return isinstance(value, list) and 0 < len(value) <= items_max


_is_intent = matches(r"int_[0-9A-Za-z]{1,64}")
_is_org = matches(r"org_[0-9A-Za-z]{1,64}")
_is_salt = matches(r"[0-9a-f]{32}")


def _entry_form(value: Any, at: int) -> Entry:
    if not has_members(value, ["documents", "index", "leaf", "proof"]):
        names = "documents, index, leaf, proof"
        refuse("form", f"entry {at + 1} of the receipt does not have exactly these members: {names}")
    index, leaf_text, proof, documents = value["index"], value["leaf"], value["proof"], value["documents"]
    if type(index) is not int or not 0 <= index <= integer_max or not is_text(leaf_text):
        refuse("form", f"entry {at + 1} of the receipt has no index or no leaf")
    hashes: List[bytes] = []
    for each in proof if isinstance(proof, list) and len(proof) <= proof_hashes_max else [None]:
        decoded = base64_hash(each)
        if decoded is None:
            refuse("form", f"the proof of entry {index} is not a list of up to {proof_hashes_max} hashes", index)
        hashes.append(decoded)
    leaf = _leaf_of(leaf_text, index)
    wanted = ["data", "facts", "intent"] if leaf["type"] == "decided" else ["data"]
    if not has_members(documents, wanted) or not all(_is_document(each) for each in documents.values()):
        refuse("form", f"entry {index} does not have exactly these documents: {', '.join(wanted)}", index)
    return Entry(index, leaf_text, leaf, hashes, documents)


def _is_document(value: Any) -> bool:
    if value is None:
        return True
    return has_members(value, ["salt", "text"]) and is_text(value["text"]) and _is_salt(value["salt"])


_is_hash = matches(r"[0-9a-f]{64}")
_is_id = matches(r"[a-z]+_[0-9A-Za-z_]{1,100}")
_is_word = matches(r"[a-z_]{1,64}")
is_time = matches(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")


def _is_id_or_null(value: Any) -> bool:
    return value is None or _is_id(value)


def _is_version(value: Any) -> bool:
    return type(value) is int and value == 1


_change_form: Dict[str, Callable[[Any], bool]] = {
    "actor": is_text,
    "at": is_time,
    "audit_id": _is_id,
    "data": _is_hash,
    "intent_id": _is_id_or_null,
    "type": _is_word,
    "v": _is_version,
}

_decision_form: Dict[str, Callable[[Any], bool]] = {
    "actor": is_text,
    "agent_id": is_text,
    "at": is_time,
    "data": _is_hash,
    "decision_id": _is_id,
    "escalation_id": _is_id_or_null,
    "facts": _is_hash,
    "intent": _is_hash,
    "intent_id": _is_id,
    "lineage_id": _is_id_or_null,
    "membrane_id": _is_id,
    "mode": _is_word,
    "override_id": _is_id_or_null,
    "type": _is_word,
    "v": _is_version,
    "verdict": _is_word,
}


def _leaf_of(text: str, index: int) -> Json:
    """The leaf of ledger entry format 1 (docs/decisions/0030-the-ledger.md)."""
    leaf = parsed_object(text)
    form = _decision_form if leaf is not None and leaf.get("type") == "decided" else _change_form
    if (
        leaf is None
        or not has_members(leaf, list(form))
        or not all(is_allowed(leaf[name]) for name, is_allowed in form.items())
        or canonical(leaf) != text
    ):
        refuse("leaf", f"the leaf of entry {index} is not a ledger entry of format 1", index)
    return leaf
