/** Expected hashes were computed with Python's json and hashlib. */
import { describe, expect, test } from "vitest";
import {
  type ChangeHeader,
  changeHash,
  changeLeaf,
  commitmentTo,
  type DecisionHeader,
  decisionHash,
  decisionLeaf,
  leafHash,
} from "./ledger-entry.ts";

const ulid = "01KAAAAAAAAAAAAAAAAAAAAAAA";
const at = "2026-11-21T03:36:48.123456Z";

const key_created: ChangeHeader = {
  ...{ audit_id: `aud_${ulid}`, intent_id: null, type: "key_created", actor: 'key "é" \\ 😀\n', at },
};
const observed: ChangeHeader = { ...key_created, intent_id: `int_${ulid}`, type: "observed", actor: "system" };
const change = { data: '{"n":1}', salt: "00".repeat(16) };

const plain: DecisionHeader = {
  intent_id: `int_${ulid}`,
  decision_id: `dec_${ulid}`,
  membrane_id: `mem_${ulid}`,
  agent_id: "claude",
  actor: `key_${ulid}`,
  lineage_id: null,
  mode: "live",
  verdict: "approve",
  escalation_id: null,
  override_id: null,
  at,
};
const full: DecisionHeader = {
  ...plain,
  agent_id: 'a"b\\c\n\u0001\u001f é😀',
  actor: 'o"p\\q',
  lineage_id: `key_${ulid}`,
  mode: "test",
  verdict: "approve_modified",
  escalation_id: `esc_${ulid}`,
  override_id: `ovr_${ulid}`,
};
const documents = { intent: '{"submitted":"é"}', facts: '{"origins":[]}', data: '{"verdict":"approve"}' };
const salts = { intent: "01".repeat(16), facts: "02".repeat(16), data: "03".repeat(16) };
const commitments = {
  intent: commitmentTo(salts.intent, documents.intent),
  facts: commitmentTo(salts.facts, documents.facts),
  data: commitmentTo(salts.data, documents.data),
};

describe("a change", () => {
  test.each<[string, ChangeHeader, leaf: string, hash: string]>([
    [
      "about no intent, of an actor with quotes and other letters",
      key_created,
      String.raw`{"actor":"key \"é\" \\ 😀\n","at":"2026-11-21T03:36:48.123456Z","audit_id":"aud_01KAAAAAAAAAAAAAAAAAAAAAAA","data":"33a5c3bf0adee4f76490b06c69f26bc7a69f48cfe6244e572fbe5842c953e1d3","intent_id":null,"type":"key_created","v":1}`,
      "479b277d1c9e24916739cf82099fd8cc1559891071589d3cba477df42e1ad0d5",
    ],
    [
      "about an intent",
      observed,
      '{"actor":"system","at":"2026-11-21T03:36:48.123456Z","audit_id":"aud_01KAAAAAAAAAAAAAAAAAAAAAAA","data":"33a5c3bf0adee4f76490b06c69f26bc7a69f48cfe6244e572fbe5842c953e1d3","intent_id":"int_01KAAAAAAAAAAAAAAAAAAAAAAA","type":"observed","v":1}',
      "8ea5638d0640aa1f9b1c646e356f5de48ecdc33454235c6de519c3ea3ae7f0d0",
    ],
  ])("%s has this leaf and this hash", (_, header, leaf, hash) => {
    expect(changeLeaf(header, commitmentTo(change.salt, change.data))).toBe(leaf);
    expect(leafHash(leaf)).toBe(hash);
    expect(changeHash(header, change.data, change.salt)).toBe(hash);
  });
});

describe("a decision", () => {
  test.each<[string, DecisionHeader, leaf: string, hash: string]>([
    [
      "in open mode, with no review",
      plain,
      '{"actor":"key_01KAAAAAAAAAAAAAAAAAAAAAAA","agent_id":"claude","at":"2026-11-21T03:36:48.123456Z","data":"2a6c0ea51c3edb499dc5e4b6081129b699f0ddf12566df60026deb5711206caf","decision_id":"dec_01KAAAAAAAAAAAAAAAAAAAAAAA","escalation_id":null,"facts":"755a69cec82c1fe7c3c8bfe04b1cdf4528e0ba998a4741afa631139210f91d20","intent":"7f5925b3757cb7dc1cca5e3f237e92ce4237aeec59f21b9363b9bfc62aadb0fc","intent_id":"int_01KAAAAAAAAAAAAAAAAAAAAAAA","lineage_id":null,"membrane_id":"mem_01KAAAAAAAAAAAAAAAAAAAAAAA","mode":"live","override_id":null,"type":"decided","v":1,"verdict":"approve"}',
      "f040b50e2463bf3eeb32d46427add49dbef5c7fb79b67989a4c5dc13476aefd7",
    ],
    [
      "with all ids, of an agent and an actor with quotes, control characters and other letters",
      full,
      String.raw`{"actor":"o\"p\\q","agent_id":"a\"b\\c\n\u0001\u001f é😀","at":"2026-11-21T03:36:48.123456Z","data":"2a6c0ea51c3edb499dc5e4b6081129b699f0ddf12566df60026deb5711206caf","decision_id":"dec_01KAAAAAAAAAAAAAAAAAAAAAAA","escalation_id":"esc_01KAAAAAAAAAAAAAAAAAAAAAAA","facts":"755a69cec82c1fe7c3c8bfe04b1cdf4528e0ba998a4741afa631139210f91d20","intent":"7f5925b3757cb7dc1cca5e3f237e92ce4237aeec59f21b9363b9bfc62aadb0fc","intent_id":"int_01KAAAAAAAAAAAAAAAAAAAAAAA","lineage_id":"key_01KAAAAAAAAAAAAAAAAAAAAAAA","membrane_id":"mem_01KAAAAAAAAAAAAAAAAAAAAAAA","mode":"test","override_id":"ovr_01KAAAAAAAAAAAAAAAAAAAAAAA","type":"decided","v":1,"verdict":"approve_modified"}`,
      "33dfb9f25375897ac7a8bc62e94750e066e98281bda3c053f84abe54c5b8dc0c",
    ],
  ])("%s has this leaf and this hash", (_, header, leaf, hash) => {
    expect(decisionLeaf(header, commitments)).toBe(leaf);
    expect(leafHash(leaf)).toBe(hash);
    expect(decisionHash(header, documents, salts)).toBe(hash);
  });

  test.each(["intent", "facts", "data"] as const)("another %s or salt gives another hash", (name) => {
    const hash = decisionHash(plain, documents, salts);
    expect(decisionHash(plain, { ...documents, [name]: `${documents[name]} ` }, salts)).not.toBe(hash);
    expect(decisionHash(plain, documents, { ...salts, [name]: "04".repeat(16) })).not.toBe(hash);
  });
});
