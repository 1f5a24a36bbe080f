"""Verifies receipts offline, without the service and without trust in it. Needs `pip install countersign[verify]`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from .form import Entry, VerifiedEntry, receipt_form
from .note import Checkpoint, VerifierKey, is_line_of, parsed_checkpoint, verified_signature, verifier_key
from .refused import Refused, refuse
from .rulings import (
    Confirmations,
    check_registrations,
    not_proved_by_passkeys,
    proved_by_passkeys,
    verified_rulings,
)
from .texts import Json, base64_hash, parsed_object
from .tree import Head, is_extended, is_included, leaf_hash, sha256

__all__ = ["Forged", "KnownCheckpoint", "Verified", "VerifiedEntry", "verify_receipt"]


@dataclass(frozen=True)
class Verified:
    """The receipt is genuine."""

    proved: List[str]
    not_proved: List[str]
    intent_id: str
    entries: List[VerifiedEntry]


@dataclass(frozen=True)
class Forged:
    """The receipt is not genuine, or no key that you trust signed it."""

    reason: str
    check: str
    entry: Optional[int]
    """The index in the log. None: the check is not about one entry."""


@dataclass(frozen=True)
class KnownCheckpoint:
    """A checkpoint that you noted earlier or later, and the consistency proof between it and the receipt's."""

    checkpoint: str
    proof: Sequence[str]


def verify_receipt(
    receipt: Union[bytes, str], keys: Sequence[str], known: Optional[KnownCheckpoint] = None
) -> Union[Verified, Forged]:
    """Verifies the bytes of a receipt: signatures, proofs and commitments.

    `keys` are verifier keys that you trust, of logs and of witnesses. Get them from another place than the receipt,
    because the receipt names keys, too, and a forger would name his own. Raises ValueError for keys or a known
    checkpoint that no receipt could match.
    """
    given = [_given_key(text) for text in keys]
    if not any(key.by == "log" for key in given):
        raise ValueError("give at least one verifier key of a log")
    compared = None if known is None else (_known_checkpoint(known.checkpoint, given), known.proof)
    try:
        form = receipt_form(receipt)
        checkpoint = parsed_checkpoint(form.checkpoint)
        if not checkpoint.origin.endswith(f"/{form.org_id}"):
            refuse("origin", f"the log {checkpoint.origin} is not the log of the organization {form.org_id}")
        signers = _verified_signers(checkpoint, form.keys, given)
        _check_order(form.entries, form.intent_id, checkpoint.head.size)
        check_registrations(form.passkeys, checkpoint.head.size)
        entries = [_verified_entry(entry, checkpoint.head) for entry in form.entries]
        registered = [_verified_entry(entry, checkpoint.head) for entry in form.passkeys]
        confirmations = verified_rulings(form, entries, registered)
        if compared is not None:
            _check_consistency(checkpoint, *compared)
    except Refused as refused:
        return Forged(str(refused), refused.check, refused.entry)
    known_size = None if compared is None else compared[0].head.size
    indexes = sorted(entry.index for entry in [*entries, *registered])
    proved = _proved_by(checkpoint, signers, indexes, confirmations, known_size)
    not_proved = [*_not_proved_by(signers, entries, known_size), *not_proved_by_passkeys(confirmations)]
    return Verified(proved, not_proved, form.intent_id, entries)


def _given_key(text: str) -> VerifierKey:
    key = verifier_key(text.strip())
    if key is None:
        raise ValueError(f'"{text[:80]}" is not a verifier key: name+8 hex digits+Base64')
    return key


def _known_checkpoint(note: str, given: Sequence[VerifierKey]) -> Checkpoint:
    """The checkpoint must be signed by a given key, or a forger could have written it."""
    try:
        checkpoint = parsed_checkpoint(note)
        signers = [key for key in given if key.by == "log" and key.name == checkpoint.origin]
        signed = [(line, key) for line in checkpoint.signatures for key in signers if is_line_of(line, key)]
        for line, key in signed:
            verified_signature(checkpoint, line, key)
    except Refused as refused:
        raise ValueError(f"the known checkpoint is not valid: {refused}") from None
    if not signed:
        raise ValueError("the known checkpoint is not signed by a key that you gave")
    return checkpoint


class _Signers(NamedTuple):
    keys: List[str]
    """Names with key ids of the trusted keys of the log."""
    witnesses: List[Tuple[str, int]]
    """Trusted witnesses and their times."""
    others: List[str]
    """Names of witnesses that nobody trusted."""


def _verified_signers(checkpoint: Checkpoint, named: Sequence[str], given: Sequence[VerifierKey]) -> _Signers:
    """The receipt's keys must be those of the signatures, in their order."""
    keys: List[VerifierKey] = []
    for at, line in enumerate(checkpoint.signatures):
        key = verifier_key(named[at]) if at < len(named) else None
        if key is None:
            refuse("keys", f"key {at + 1} of the receipt is not a verifier key")
        foreign = key.by == "log" and key.name != checkpoint.origin
        if not is_line_of(line, key) or foreign or named.index(key.text) != at:
            refuse("keys", f"key {at + 1} of the receipt is not the key of signature {at + 1} of the checkpoint")
        keys.append(key)
    if len(keys) != len(named):
        refuse("keys", "the receipt does not have one key for each signature")
    trusted = {key.text for key in given}
    signers = _Signers([], [], [])
    for line, key in zip(checkpoint.signatures, keys):
        seconds = verified_signature(checkpoint, line, key)
        if seconds is None and key.text in trusted:
            signers.keys.append(f"{key.name}+{key.id.hex()}")
        elif seconds is not None and key.text in trusted:
            signers.witnesses.append((key.name, seconds))
        elif seconds is not None:
            signers.others.append(key.name)
    if not signers.keys:
        refuse("trusted_key", f"no key that you gave signed the checkpoint of the log {checkpoint.origin}")
    return signers


def _check_order(entries: Sequence[Entry], intent_id: str, size: int) -> None:
    """The decision comes first, then what happened to it, in the order of the log."""
    previous = -1
    for at, (index, _, leaf, _, _) in enumerate(entries):
        if not previous < index < size:
            refuse("position", f"entry {index} is not after the previous entry and before the end of the log", index)
        if leaf["intent_id"] != intent_id:
            refuse("intent", f"entry {index} is about another intent than {intent_id}", index)
        if (leaf["type"] == "decided") != (at == 0):
            refuse("decision", f"entry {index} is {'not the' if at == 0 else 'another'} decision", index)
        previous = index


def _verified_entry(entry: Entry, head: Head) -> VerifiedEntry:
    index, leaf_text, leaf, proof, documents = entry
    read: Dict[str, Optional[Json]] = {}
    for name, document in documents.items():
        read[name] = None
        if document is not None:
            if sha256((document["salt"] + document["text"]).encode()).hex() != leaf[name]:
                message = f'the document "{name}" of entry {index} is not the one that the log holds'
                refuse("document", message, index)
            read[name] = parsed_object(document["text"])
            if read[name] is None:
                refuse("document", f'the document "{name}" of entry {index} is not a JSON object', index)
    answer = read["data"] if leaf["type"] == "decided" else None
    if answer is not None:
        if answer.get("decision_id") != leaf["decision_id"] or answer.get("verdict") != leaf["verdict"]:
            refuse("decision", f"the answer of entry {index} is not that of its decision", index)
    if not is_included(leaf_hash(leaf_text), index, head.size, proof, head.root):
        message = f"the log does not have entry {index} of the receipt: the proof does not lead to the root"
        refuse("inclusion", message, index)
    return VerifiedEntry(index, leaf["type"], leaf["at"], leaf["actor"], leaf, read)


def _check_consistency(checkpoint: Checkpoint, known: Checkpoint, proof: Sequence[str]) -> None:
    hashes = [each for each in map(base64_hash, proof) if each is not None]
    first, second = sorted((known.head, checkpoint.head), key=lambda head: head.size)
    if known.origin != checkpoint.origin or len(hashes) != len(proof) or not is_extended(first, second, hashes):
        refuse("consistency", "the log of the receipt and the log of the known checkpoint differ")


def _proved_by(
    checkpoint: Checkpoint,
    signers: _Signers,
    indexes: Sequence[int],
    confirmations: Confirmations,
    known_size: Optional[int],
) -> List[str]:
    origin, size = checkpoint.origin, checkpoint.head.size
    compared = f"The checkpoint that you know ({known_size} entries) and this one ({size} entries) are of one log."
    return [
        f"The key {', '.join(signers.keys)} signed that the log {origin} has {size} entries with this root.",
        *(
            f"The witness {name} saw this log at {_utc_time(seconds)} and found that it had only grown."
            for name, seconds in signers.witnesses
        ),
        f"The log holds every entry of this receipt, unchanged: {', '.join(map(str, indexes))}.",
        "Each document of this receipt is the one that the service recorded with its entry.",
        *proved_by_passkeys(confirmations),
        *([] if known_size is None else [compared]),
    ]


def _not_proved_by(signers: _Signers, entries: Sequence[VerifiedEntry], known_size: Optional[int]) -> List[str]:
    erased = [
        f"{name} of entry {entry.index}"
        for entry in entries
        for name, document in entry.documents.items()
        if document is None
    ]
    other = "That the log shows everybody the same entries: compare it with a checkpoint that you noted at another time."
    reported = any(entry.type == "observed" for entry in entries)
    return [
        "That the facts were true, and that names and times are right: they are as the service recorded them.",
        "That nothing else happened to this action: the log may hold more entries about it.",
        *([other] if known_size is None else []),
        *(f"That the witness {name} saw this log: you gave no key of this witness." for name in signers.others),
        *([f"What these documents said, which were erased or withheld: {', '.join(erased)}."] if erased else []),
        *(["That the action had the reported outcome: the agent reported it."] if reported else []),
    ]


def _utc_time(seconds: int) -> str:
    """RFC 3339 without fractions. Years after 9999 are shown as seconds."""
    if seconds >= 253_402_300_800:
        return f"second {seconds}"
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
