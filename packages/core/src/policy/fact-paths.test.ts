import { expect, test } from "vitest";
import { mentionsOf } from "./fact-paths.ts";

test.each([
  ["facts.security.siem_ref == 'x' && vars.limit > 2", ["security.siem_ref"], ["limit"]],
  ["facts['security'].siem_ref != ''", ["security.siem_ref"], []],
  ["has(facts.regulatory.sox_scope.in_scope)", ["regulatory.sox_scope"], []],
  [
    "facts.identity.assigned_permissions.exists(p, p == facts.identity.account_status)",
    ["identity.account_status", "identity.assigned_permissions"],
    [],
  ],
  ["framework(facts, 'gdpr') == 'yes'", ["regulatory.applicable_frameworks"], []],
  ["cel.bind(f, facts.security, f.siem_ref) == ''", ["security.*"], []],
  [
    "size(facts[params.category]) > 1",
    ["entity_state.*", "environmental.*", "identity.*", "organizational.*", "regulatory.*", "security.*"],
    [],
  ],
  ["params.facts.security == 1", [], []],
])("%s mentions its facts and variables", (source, facts, variables) => {
  const mentions = mentionsOf(source);
  expect([...mentions.facts].sort()).toEqual(facts);
  expect([...mentions.variables]).toEqual(variables);
});
