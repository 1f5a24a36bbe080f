"""Verifies proofs of RFC 9162 trees."""

from __future__ import annotations

import hashlib
from typing import NamedTuple, Sequence


class Head(NamedTuple):
    size: int
    root: bytes


def sha256(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right)


def is_included(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """RFC 9162 §2.1.3.2."""
    node, last, reached = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            return False
        if node % 2 == 1 or node == last:
            reached = node_hash(sibling, reached)
            while node % 2 == 0 and node != 0:
                node, last = node >> 1, last >> 1
        else:
            reached = node_hash(reached, sibling)
        node, last = node >> 1, last >> 1
    return last == 0 and reached == root


def is_extended(first: Head, second: Head, proof: Sequence[bytes]) -> bool:
    """RFC 9162 §2.1.4.2. Also accepts an empty proof for equal heads, and for an empty first tree."""
    if first.size == second.size:
        return not proof and first.root == second.root
    if first.size == 0:
        return not proof and first.root == sha256(b"")
    path = list(proof)
    if first.size & (first.size - 1) == 0:
        path.insert(0, first.root)
    if not path:
        return False
    node, last = first.size - 1, second.size - 1
    while node % 2 == 1:
        node, last = node >> 1, last >> 1
    of_first = of_second = path[0]
    for sibling in path[1:]:
        if last == 0:
            return False
        if node % 2 == 1 or node == last:
            of_first, of_second = node_hash(sibling, of_first), node_hash(sibling, of_second)
            while node % 2 == 0 and node != 0:
                node, last = node >> 1, last >> 1
        else:
            of_second = node_hash(of_second, sibling)
        node, last = node >> 1, last >> 1
    return last == 0 and of_first == first.root and of_second == second.root


def leaf_hash(leaf: str) -> bytes:
    """RFC 9162 §2.1.1."""
    return sha256(b"\x00" + leaf.encode())
