"""Receipts and forgeries that the verifiers of all languages tell apart."""

from __future__ import annotations

import json
import unittest
from importlib.util import find_spec
from typing import Any, List

from .support import read_json

has_cryptography = find_spec("cryptography") is not None
if has_cryptography:
    from countersign.verify import Forged, KnownCheckpoint, Verified, verify_receipt

vectors: List[Any] = read_json("test/evidence/vectors/receipts.json")


def known_of(given: Any) -> Any:
    return None if given is None else KnownCheckpoint(given["checkpoint"], given["proof"])


@unittest.skipUnless(has_cryptography, "the package cryptography is missing")
class Receipts(unittest.TestCase):
    def test_proves_what_the_vectors_say(self) -> None:
        for vector in vectors:
            for receipt in (vector["receipt"], vector["receipt"].encode()):
                with self.subTest(vector["name"]):
                    verdict = verify_receipt(receipt, vector["keys"], known_of(vector.get("known")))
                    assert isinstance(verdict, Verified), verdict
                    self.assertEqual(verdict.proved, vector["proved"])
                    self.assertEqual(verdict.not_proved, vector["not_proved"])

    def test_refuses_each_forgery_by_the_check_that_finds_it(self) -> None:
        for vector in vectors:
            for forgery in vector["forgeries"]:
                with self.subTest(forgery["name"], of=vector["name"]):
                    known = known_of(forgery.get("known", vector.get("known")))
                    verdict = verify_receipt(forgery["receipt"], vector["keys"], known)
                    assert isinstance(verdict, Forged), verdict
                    self.assertEqual((verdict.check, verdict.entry), (forgery["check"], forgery["entry"]))

    def test_refuses_a_change_of_any_byte(self) -> None:
        for vector in (vectors[0], vectors[2]):
            receipt = vector["receipt"].encode()
            for place in range(len(receipt)):
                forged = bytearray(receipt)
                forged[place] ^= 1 << place % 8
                verdict = verify_receipt(bytes(forged), vector["keys"])
                self.assertIsInstance(verdict, Forged, f"{vector['name']}: byte {place}")

    def test_returns_the_entries_with_their_parsed_documents(self) -> None:
        verdict = verify_receipt(vectors[1]["receipt"], vectors[1]["keys"])
        assert isinstance(verdict, Verified)
        self.assertEqual([each.type for each in verdict.entries], ["decided", "voted", "reviewed", "claimed", "observed"])
        self.assertEqual(verdict.entries[1].documents, {"data": {"comment": "checked by phone", "outcome": "approve"}})

    def test_raises_for_keys_that_are_none_or_a_witness_alone(self) -> None:
        receipt, (_, key, witness) = vectors[1]["receipt"], vectors[1]["keys"]
        for keys in ([], [witness], [""], ["key"], [f"{key}="], [key, key[:-1]]):
            with self.subTest(keys=keys), self.assertRaises(ValueError):
                verify_receipt(receipt, keys)

    def test_raises_for_a_known_checkpoint_that_no_given_key_signed(self) -> None:
        compared, other = vectors[3], vectors[1]
        with self.assertRaisesRegex(ValueError, "not signed by a key"):
            verify_receipt(other["receipt"], other["keys"], known_of(compared["known"]))
        known = {**compared["known"], "checkpoint": compared["known"]["checkpoint"].replace("\n37\n", "\n38\n")}
        with self.assertRaisesRegex(ValueError, "not valid"):
            verify_receipt(compared["receipt"], compared["keys"], known_of(known))

    def test_refuses_text_that_no_file_can_hold_and_numbers_that_are_none(self) -> None:
        receipt, keys = vectors[0]["receipt"], vectors[0]["keys"]
        value = json.loads(receipt)
        for forged in (receipt + "\ud800", receipt.replace('"index":0', '"index":NaN'), "[" * 100_000, f"{value}"):
            self.assertIsInstance(verify_receipt(forged, keys), Forged)
