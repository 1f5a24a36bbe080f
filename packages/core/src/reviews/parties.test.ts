import { describe, expect, test } from "vitest";
import { isPartyName, partyNames } from "./parties.ts";

const intent = (on_behalf_of?: string) => ({
  agent: { id: "desk", ...(on_behalf_of === undefined ? {} : { on_behalf_of }) },
  action: { verb: "Pay" },
});
const catalogue = (party?: string) => [{ verb: "pay", ...(party === undefined ? {} : { party }) }];
const isParty = (name: string, party: string, content: object) =>
  isPartyName(partyNames(intent(), catalogue(party), [content as Record<string, unknown>]), [name]);

describe("the parties of an action", () => {
  test.each([
    ["ben@corp.example", "ben@corp.example"],
    ["  Ben@Corp.EXAMPLE\n", "ben@corp.example"],
    ["ｂen@corp.example", "BEN@corp.example"],
    ["b\u200ben@corp.example", "ben@corp.example"],
    ["Straße", "STRASSE"],
  ])("%j on whose behalf the agent acts is %j", (on_behalf_of, name) => {
    expect(isPartyName(partyNames(intent(on_behalf_of), [], []), ["usr_1", name])).toBe(true);
  });

  test.each([
    ["payee", { payee: "ben" }],
    ["params.payee", { payee: "ben" }],
    ["payee.name", { payee: { name: "ben" } }],
    ["payee", { payee: { name: "ben", bank: "x" } }],
    ["payees", { payees: ["ann", "ben"] }],
    ["payee.name", { "payee.name": "ben" }],
  ])("the catalogue's party %j names ben in %j", (party, content) => {
    expect(isParty("ben", party, content)).toBe(true);
  });

  test.each([
    ["payee", { payer: "ben" }],
    ["payee.name", { payee: "ben" }],
    ["constructor.name", {}],
    ["payee", { payee: 7, other: "ben" }],
  ])("the catalogue's party %j does not name ben in %j", (party, content) => {
    expect(isParty("ben", party, content)).toBe(false);
  });

  test("are empty without names, and empty names do not count", () => {
    expect(partyNames(intent(" "), catalogue(), [{ payee: "ben" }]).size).toBe(0);
    expect(partyNames({ ...intent(), action: { verb: "other" } }, catalogue("payee"), [{ payee: "ben" }]).size).toBe(0);
  });
});
