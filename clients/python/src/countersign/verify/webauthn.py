"""Verifies what a passkey signed (WebAuthn Level 3), with the key in its COSE form (RFC 9052)."""

from __future__ import annotations

import base64
import re
from typing import Any, Dict, NamedTuple, Optional, Tuple, Union

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .texts import Json, parsed_object
from .tree import sha256


class Assertion(NamedTuple):
    authenticator_data: bytes
    client_data_json: bytes
    signature: bytes
    challenge: bytes


class WrongAssertion(Exception):
    """The passkey did not sign the challenge for its site."""


_origin = re.compile(r"https?://([a-z0-9.-]{1,253})(?::[0-9]{1,5})?")


def verified_assertion(assertion: Assertion, public_key: bytes) -> str:
    """Returns the page's origin. Raises `WrongAssertion`."""
    data = assertion.authenticator_data
    client = parsed_object(_text_of(assertion.client_data_json)) or {}
    if client.get("type") != "webauthn.get":
        raise WrongAssertion("its client data is not of a signature")
    if base64_url_bytes(client.get("challenge")) != assertion.challenge:
        raise WrongAssertion("it signs another ruling")
    origin, host = _site_of(client)
    if len(data) < 37 or data[:32] != sha256(host.encode()):
        raise WrongAssertion("it is of another site than its origin")
    if not data[32] & 1 or not data[32] & 4:
        raise WrongAssertion("the passkey did not verify its user")
    if not _is_signed_with(public_key, assertion.signature, data + sha256(assertion.client_data_json)):
        raise WrongAssertion("the signature does not match")
    return origin


def _text_of(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return ""


def _site_of(client: Json) -> Tuple[str, str]:
    origin = client.get("origin")
    match = _origin.fullmatch(origin) if isinstance(origin, str) else None
    if match is None or client.get("crossOrigin", False) is not False or "topOrigin" in client:
        raise WrongAssertion("its client data has no origin of a page of its own")
    return match[0], match[1]


def base64_url_bytes(text: Any) -> Optional[bytes]:
    """Decodes base64url without padding. None: not the one text of these bytes."""
    if not isinstance(text, str) or re.fullmatch(r"[A-Za-z0-9_-]*", text) is None or len(text) % 4 == 1:
        return None
    decoded = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return decoded if base64.urlsafe_b64encode(decoded).decode().rstrip("=") == text else None


_kty, _alg, _crv, _x, _y = 1, 3, -1, -2, -3
_okp, _ec2, _rsa = 1, 2, 3


def _is_signed_with(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """False for a key of another algorithm, too."""
    key = _cose_key(public_key) or {}

    def content(member: int) -> bytes:
        value = key.get(member)
        return value if isinstance(value, bytes) else b""

    of = (key.get(_kty), key.get(_alg), key.get(_crv))
    try:
        if of == (_okp, -8, 6):
            Ed25519PublicKey.from_public_bytes(content(_x)).verify(signature, message)
        elif of == (_ec2, -7, 1):
            point = b"\x04" + content(_x) + content(_y)
            found = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
            found.verify(signature, message, ec.ECDSA(hashes.SHA256()))
        elif of[:2] == (_rsa, -257):
            n, e = (int.from_bytes(content(member), "big") for member in (_crv, _x))
            rsa.RSAPublicNumbers(e, n).public_key().verify(signature, message, padding.PKCS1v15(), hashes.SHA256())
        else:
            return False
    except (InvalidSignature, ValueError):
        return False
    return True


class _Reader:
    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def take(self, count: int) -> bytes:
        taken = self.content[self.at : self.at + count]
        if len(taken) < count:
            raise ValueError("the text ends early")
        self.at += count
        return taken

    def head(self) -> Tuple[int, int]:
        """Returns the major type and the number after it."""
        first = self.take(1)[0]
        major, short = first >> 5, first & 31
        if short < 24:
            return major, short
        if short > 25:
            raise ValueError("the number is too large")
        return major, int.from_bytes(self.take(short - 23), "big")

    def item(self) -> Union[int, bytes]:
        major, number = self.head()
        if major == 0:
            return number
        if major == 1:
            return -1 - number
        if major == 2:
            return self.take(number)
        raise ValueError("the type is not known")


def _cose_key(content: bytes) -> Optional[Dict[int, Union[int, bytes]]]:
    """Reads a CBOR map of integers to integers and byte strings. None: anything else."""
    reader = _Reader(content)
    members: Dict[int, Union[int, bytes]] = {}
    try:
        major, size = reader.head()
        if major != 5 or size > 16:
            return None
        for _ in range(size):
            name, value = reader.item(), reader.item()
            if isinstance(name, bytes) or name in members:
                return None
            members[name] = value
    except ValueError:
        return None
    return members if reader.at == len(content) else None
