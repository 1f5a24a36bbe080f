"""Checkpoints (C2SP tlog-checkpoint) as signed notes (C2SP signed-note), and cosignatures (C2SP tlog-cosignature).

Names are printable ASCII.
"""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Tuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .refused import refuse
from .texts import base64_bytes, base64_hash
from .tree import Head, sha256

signatures_max = 16
integer_max = 2**53 - 1

_key = re.compile(r"([!-*,-~]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)")
_note = re.compile(
    r"(([!-*,-~]+)\n(0|[1-9][0-9]{0,15})\n([A-Za-z0-9+/=]{44})\n)\n((?:— [!-*,-~]+ [A-Za-z0-9+/=]+\n)+)"
)


class VerifierKey(NamedTuple):
    text: str
    name: str
    id: bytes
    by: str
    """`log` or `witness`."""
    public_key: bytes


class SignatureLine(NamedTuple):
    name: str
    id: bytes
    signature: bytes


class Checkpoint(NamedTuple):
    origin: str
    body: str
    """The text that the log signs."""
    head: Head
    signatures: List[SignatureLine]


def verifier_key(text: str) -> Optional[VerifierKey]:
    """None: not the text of a verifier key of Ed25519, or its id is not that of its name and key."""
    match = _key.fullmatch(text)
    typed = base64_bytes(match[3]) if match else None
    if match is None or typed is None or len(typed) != 33 or typed[0] not in (1, 4):
        return None
    key_id = sha256(match[1].encode() + b"\n" + typed)[:4]
    if key_id.hex() != match[2]:
        return None
    return VerifierKey(text, match[1], key_id, "log" if typed[0] == 1 else "witness", typed[1:])


def parsed_checkpoint(note: str) -> Checkpoint:
    """Raises `Refused` for any other text than a checkpoint of three lines with 1 to 16 signatures."""
    match = _note.fullmatch(note)
    root = base64_hash(match[4]) if match else None
    if match is None or root is None or int(match[3]) > integer_max:
        refuse("checkpoint", "the checkpoint is not a signed note of three lines: name of the log, size, root")
    lines = match[5][:-1].split("\n")
    signatures = [_signature_line(line) for line in lines]
    if len(signatures) > signatures_max:
        refuse("checkpoint", f"the checkpoint has more than {signatures_max} signatures")
    return Checkpoint(match[2], match[1], Head(int(match[3]), root), signatures)


def _signature_line(line: str) -> SignatureLine:
    _, name, encoded = line.split(" ")
    decoded = base64_bytes(encoded)
    if decoded is None or len(decoded) <= 4:
        refuse("checkpoint", f"the signature of {name} at the checkpoint is not canonical Base64")
    return SignatureLine(name, decoded[:4], decoded[4:])


def is_line_of(line: SignatureLine, key: VerifierKey) -> bool:
    return line.name == key.name and line.id == key.id


def verified_signature(checkpoint: Checkpoint, line: SignatureLine, key: VerifierKey) -> Optional[int]:
    """Returns the time of a witness in seconds since 1970, and None for the log's key. Raises `Refused`."""
    seconds, message, signature = _signed(checkpoint.body, line.signature, key)
    try:
        if len(signature) != 64 or (seconds or 0) > integer_max:
            raise InvalidSignature()
        Ed25519PublicKey.from_public_bytes(key.public_key).verify(signature, message.encode())
    except (InvalidSignature, ValueError):
        refuse("signature", f"the signature of {key.name} does not match the checkpoint")
    return seconds


def _signed(body: str, signature: bytes, key: VerifierKey) -> Tuple[Optional[int], str, bytes]:
    if key.by == "log":
        return None, body, signature
    seconds = int.from_bytes(signature[:8], "big")
    return seconds, f"cosignature/v1\ntime {seconds}\n{body}", signature[8:]
