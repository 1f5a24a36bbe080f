"""Verifies the passkeys' signatures over the rulings of a receipt (docs/decisions/0067-signed-rulings.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

from .form import Entry, Form, VerifiedEntry, is_time
from .refused import refuse
from .texts import Json, canonical, has_members, is_text, matches, parsed_object
from .tree import sha256
from .webauthn import Assertion, WrongAssertion, base64_url_bytes, verified_assertion


class SignedRuling(NamedTuple):
    entry: int
    outcome: str
    person: str
    registered: int
    """The index of the entry in which the person registered the passkey."""
    origin: str
    """Of the page on which the passkey signed."""
    is_change_shown: bool
    """False: the person changed the action, and the receipt does not show how."""


@dataclass
class Confirmations:
    signed: List[SignedRuling] = field(default_factory=list)
    unregistered: List[int] = field(default_factory=list)
    """Indexes of votes that a passkey signed of which the receipt has no registration."""
    by_code: List[int] = field(default_factory=list)
    """Indexes of votes that were confirmed with a code."""


def check_registrations(passkeys: Sequence[Entry], size: int) -> None:
    """Raises `Refused` if an entry is no registration of a passkey, or not in its place."""
    previous = -1
    for index, _, leaf, _, documents in passkeys:
        if not previous < index < size:
            refuse("position", f"entry {index} is not after the previous entry and before the end of the log", index)
        if leaf["type"] != "passkey_registered" or documents["data"] is None:
            refuse("registration", f"entry {index} does not show the registration of a passkey", index)
        previous = index


def verified_rulings(
    form: Form, entries: Sequence[VerifiedEntry], passkeys: Sequence[VerifiedEntry]
) -> Confirmations:
    """Raises `Refused` if a ruling does not fit its entry, or its signature is not valid."""
    found = Confirmations()
    for entry in entries:
        data = entry.documents.get("data") or {}
        if entry.type != "voted" or "confirmation" not in data:
            continue
        confirmation = data["confirmation"]
        if has_members(confirmation, ["totp"]) and confirmation["totp"] is True:
            found.by_code.append(entry.index)
            continue
        ruling, credential_id, assertion, changed = _ruling_of(confirmation, entry.index)
        _check_ruling(ruling, form, entry, data)
        is_change_shown = _is_change_shown(ruling, changed, data, entry.index)
        key = _registered_key(passkeys, credential_id, entry.index, ruling["person"])
        if key is None:
            found.unregistered.append(entry.index)
            continue
        registered, public_key = key
        try:
            origin = verified_assertion(assertion, public_key)
        except WrongAssertion as wrong:
            refuse("assertion", f"the signature of the ruling in entry {entry.index} is not valid: {wrong}", entry.index)
        signed = SignedRuling(
            entry.index, ruling["outcome"], ruling["person"], registered, origin, is_change_shown
        )
        found.signed.append(signed)
    return found


_ruling_members = [
    *("at", "changed_sha256", "data_sha256", "escalation_id", "format"),
    *("intent_id", "intent_sha256", "org_id", "outcome", "person"),
]


def _ruling_of(confirmation: Any, index: int) -> Tuple[Json, str, Assertion, Optional[Json]]:
    message = f"the confirmation in entry {index} is not a ruling with a signature"
    rest = dict(confirmation) if isinstance(confirmation, dict) else {}
    is_changed = "changed" in rest
    changed = rest.pop("changed", None)
    if not has_members(rest, ["passkey", "ruling"]) or not is_text(rest["ruling"]):
        refuse("ruling", message, index)
    if is_changed and not (
        has_members(changed, ["salt", "text"]) and is_text(changed["salt"]) and is_text(changed["text"])
    ):
        refuse("ruling", message, index)
    ruling = parsed_object(rest["ruling"])
    if ruling is None or not has_members(ruling, _ruling_members) or canonical(ruling) != rest["ruling"]:
        refuse("ruling", message, index)
    passkey = rest["passkey"]
    if not has_members(passkey, ["authenticator_data", "client_data_json", "credential_id", "signature"]):
        refuse("ruling", message, index)
    authenticator_data = base64_url_bytes(passkey["authenticator_data"])
    client_data_json = base64_url_bytes(passkey["client_data_json"])
    signature = base64_url_bytes(passkey["signature"])
    if not is_text(passkey["credential_id"]) or authenticator_data is None:
        refuse("ruling", message, index)
    if client_data_json is None or signature is None:
        refuse("ruling", message, index)
    challenge = sha256(rest["ruling"].encode())
    assertion = Assertion(authenticator_data, client_data_json, signature, challenge)
    return ruling, passkey["credential_id"], assertion, changed


def _check_ruling(ruling: Json, form: Form, entry: VerifiedEntry, data: Json) -> None:
    decided = form.entries[0].leaf
    expected = {
        "format": "countersign.ruling.v1",
        "org_id": form.org_id,
        "intent_id": form.intent_id,
        "escalation_id": decided.get("escalation_id"),
        "intent_sha256": decided["intent"],
        "data_sha256": decided["data"],
        "outcome": data.get("outcome"),
        "person": data.get("person"),
    }
    for name, value in expected.items():
        if not is_text(ruling[name]) or ruling[name] != value:
            message = f"the signed ruling of entry {entry.index} has another {name} than the entry"
            refuse("ruling", message, entry.index)
    if not is_time(ruling["at"]) or ruling["at"] > entry.at:
        refuse("ruling", f"the signed ruling of entry {entry.index} is later than the entry", entry.index)


def _is_change_shown(ruling: Json, changed: Optional[Json], data: Json, index: int) -> bool:
    """False: the receipt does not show the change. Raises `Refused` if it shows another one."""
    signed = ruling["changed_sha256"] is not None
    if signed == (data.get("modifications") is not None):
        if changed is None:
            return not signed
        if sha256((changed["salt"] + changed["text"]).encode()).hex() == ruling["changed_sha256"]:
            return True
    refuse("ruling", f"the signed ruling of entry {index} is about another change of the action", index)


_is_hex = matches(r"(?:[0-9a-f]{2})+")


def _registered_key(
    passkeys: Sequence[VerifiedEntry], credential_id: str, index: int, person: str
) -> Optional[Tuple[int, bytes]]:
    """Returns the newest key that the person registered for the credential before the vote."""
    found: Optional[Tuple[int, Json]] = None
    for entry in passkeys:
        state = (entry.documents["data"] or {}).get("state")
        rows = [row for row in state if isinstance(row, dict)] if isinstance(state, list) else []
        row = next(
            (each.get("row") for each in rows if each.get("table") == "passkeys" and each.get("id") == credential_id),
            None,
        )
        if entry.index < index and isinstance(row, dict):
            found = (entry.index, row)
    if found is None:
        return None
    registered, row = found
    if row.get("user_id") != person:
        refuse("ruling", f"the passkey of the ruling in entry {index} is of another person", index)
    public_key = row.get("public_key")
    if not isinstance(public_key, str) or not _is_hex(public_key):
        refuse("registration", f"entry {registered} does not show the registration of a passkey", registered)
    return registered, bytes.fromhex(public_key)


def proved_by_passkeys(confirmations: Confirmations) -> List[str]:
    return [
        f"The passkey that {each.person} registered at entry {each.registered} signed the ruling "
        f'"{each.outcome}" of entry {each.entry} on this action, at {each.origin}. It verified its user.'
        for each in confirmations.signed
    ]


def not_proved_by_passkeys(confirmations: Confirmations) -> List[str]:
    people = dict.fromkeys(each.person for each in confirmations.signed)
    unshown = [each.entry for each in confirmations.signed if not each.is_change_shown]
    said = [
        ("How the people changed the action in these signed rulings, which the receipt does not show", unshown),
        (
            "That a passkey signed these rulings: the receipt has no registration of it",
            confirmations.unregistered,
        ),
        ("That somebody entered a code for these rulings, which only the service saw", confirmations.by_code),
    ]
    return [
        *(f"Who held the device with the passkey of {person}." for person in people),
        *(f"{text}: {', '.join(map(str, indexes))}." for text, indexes in said if indexes),
    ]
