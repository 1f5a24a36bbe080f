import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import { consentState, optedOut, optOutKnown } from "../../src/functions/consent.ts";
import { daysSince, instantOf, nowBefore, withinMonths } from "../../src/functions/dates.ts";

const NOW = Date.UTC(2026, 10, 18, 18, 0, 0);

describe("instantOf", () => {
  test.each([
    ["2026-11-18", Date.UTC(2026, 10, 18)],
    ["2026-11-18T18:00:00Z", NOW],
    ["2026-11-18T19:00:00+01:00", NOW],
    ["2026-11-18T18:00", NOW],
    ["2026-02-30", undefined],
    ["2026-13-01", undefined],
    ["2025-02-29", undefined],
    ["2024-02-29", Date.UTC(2024, 1, 29)],
    ["2026-11-18T18:00:00-23:59", NOW + (23 * 60 + 59) * 60_000],
    ["2026-11-18T18:00:00-24:00", undefined],
    ["2026-11-18T18:00:00-99:99", undefined],
    ["0024-02-29", Date.parse("0024-02-29T00:00:00Z")],
    ["0026-11-18T18:00:00Z", Date.parse("0026-11-18T18:00:00Z")],
    ["18/11/2026", undefined],
    ["yesterday", undefined],
    ["", undefined],
    [20261118, undefined],
    [null, undefined],
  ])("%j is %j", (value, expected) => {
    expect(instantOf(value)).toBe(expected);
  });
});

describe("daysSince", () => {
  test.each([
    ["2026-11-18", 0],
    ["2026-11-18T23:59:59Z", 0],
    ["2026-11-17T23:59:59Z", 1],
    ["2026-10-19", 30],
    ["2026-10-18", 31],
    ["2026-10-17", 32],
    ["2026-11-19", 1e9],
    ["2026-02-30", 1e9],
    ["never", 1e9],
    [null, 1e9],
    [{}, 1e9],
  ])("of %j is %d", (value, days) => {
    expect(daysSince(NOW, value)).toBe(days);
  });
});

describe("withinMonths", () => {
  test.each([
    ["2025-05-18", 18, true],
    ["2025-05-17", 18, false],
    ["2026-08-18", 3, true],
    ["2026-08-17", 3, false],
    ["2025-11-18", 12, true],
    ["2025-11-17", 12, false],
    ["2026-11-18", 0, true],
    ["2026-11-19", 3, false],
    ["junk", 3, false],
    ["2026-08-18", "3", false],
    ["2026-08-18", -1, false],
    ["2026-08-18", 1.5, false],
    ["0050-01-01", 1_200, false],
    ["0926-11-18", 12_000, false],
    ["1026-11-18", 12_000, true],
  ])("(%j, %j) is %j", (date, months, expected) => {
    expect(withinMonths(NOW, date, months)).toBe(expected);
  });

  test("a big integer is a count like any other", () => {
    expect(withinMonths(NOW, "2026-08-18", 3n)).toBe(true);
  });

  test("a month too short for the day takes its last day", () => {
    expect(withinMonths(Date.UTC(2026, 10, 30, 12), "2026-08-31", 3)).toBe(true);
    expect(withinMonths(Date.UTC(2026, 11, 1), "2026-08-31", 3)).toBe(false);
  });
});

describe("nowBefore", () => {
  test.each([
    ["2026-11-18T18:00:00.001Z", false],
    ["2026-11-18T18:00:01Z", true],
    ["2026-11-18T18:00:00Z", false],
    ["2026-09-22T00:00:00Z", false],
    ["2027-01-31T00:00:00Z", true],
    ["soon", false],
    [undefined, false],
  ])("(%j) is %j", (date, expected) => {
    expect(nowBefore(NOW, date)).toBe(expected);
  });
});

describe("consentState", () => {
  test.each([
    [{ status: "granted" }, "granted"],
    [{ status: "Opted-In" }, "granted"],
    [{ granted: true }, "granted"],
    [{ status: "granted", withdrawn_at: null }, "granted"],
    [{ status: "granted", expires_at: "2026-11-18T18:00:01Z" }, "granted"],
    [{ status: "granted", granted_at: "2026-06-01" }, "granted"],
    [{ status: "granted", withdrawn_at: "2026-11-01T00:00:00Z" }, "refused"],
    [{ status: "granted", revoked_at: "2026-11-17" }, "refused"],
    [{ status: "granted", withdrawn_at: "last week" }, "refused"],
    [{ status: "granted", withdrawn: true }, "refused"],
    [{ status: "granted", revoked: false }, "granted"],
    [{ status: "granted", granted: false }, "refused"],
    [{ status: "granted", expires_at: "2026-11-18T18:00:00Z" }, "refused"],
    [{ status: "granted", expires_at: "someday" }, "unknown"],
    [{ status: "granted", granted_at: "2026-12-01" }, "unknown"],
    [{ Status: "Granted" }, "granted"],
    [{ status: "granted", Consent_Status: "withdrawn" }, "refused"],
    [{ status: "granted", given_on: "2026-12-01" }, "unknown"],
    [{ status: "granted", withdrawn_purposes: [], withdrawal_instructions: "by mail", not_revoked: true }, "granted"],
    [{ status: "granted", opt_out_mechanism: "reply STOP" }, "granted"],
    [{ status: "granted", not_revoked: false }, "refused"],
    [{ status: "granted", never_expires: true }, "granted"],
    [{ status: "granted", expires: true }, "unknown"],
    [{ status: "granted", expires_at: "someday", valid_until: "2026-01-01" }, "refused"],
    [{ status: "revoked" }, "refused"],
    [{ status: "denied" }, "refused"],
    [{ status: "maybe" }, "unknown"],
    [{ granted: true, status: "maybe" }, "unknown"],
    [{ status: "granted", active: false }, "refused"],
    [{ status: "granted", is_valid: false }, "refused"],
    [{ status: "granted", active: true }, "granted"],
    [{ active: true }, "unknown"],
    [{ status: "granted", terminates_on: "2027-01-01", unsubscribe_link: "https://x.example" }, "granted"],
    [{ purposes: ["newsletter"] }, "unknown"],
    [{}, "unknown"],
    [true, "granted"],
    [false, "refused"],
    ["granted", "granted"],
    ["withdrawn", "refused"],
    [null, "unknown"],
    [7, "unknown"],
    [["granted"], "unknown"],
  ])("%j is %s", (record, state) => {
    expect(consentState(NOW, record)).toBe(state);
  });

  test.each([
    "withdrawn_on",
    "withdrawnAt",
    "Withdrawn",
    "withdrawal",
    "withdraw",
    "date_withdrawn",
    "withdrawn_date",
    "WITHDRAWAL-DATE",
    "consent_withdrawn_at",
    "revoked_on",
    "revocation",
    "opted-out",
    "opt_out_date",
    "cancelled_at",
    "unsubscribed_at",
    "Terminated",
    "suspended",
    "do_not_contact",
  ])("a mark under %s withdraws a consent", (key) => {
    expect(consentState(NOW, { status: "granted", [key]: "2026-10-01" })).toBe("refused");
    expect(consentState(NOW, { status: "granted", [key]: true })).toBe("refused");
    expect(consentState(NOW, { status: "granted", [key]: null })).toBe("granted");
    expect(consentState(NOW, { status: "granted", [key]: false })).toBe("granted");
  });

  test.each([
    "expires",
    "expiresOn",
    "Expiry",
    "expired_at",
    "expiration_date",
    "valid_to",
    "ValidUntil",
    "end_date",
    "ends_at",
  ])("a date under %s ends a consent", (key) => {
    expect(consentState(NOW, { status: "granted", [key]: "2026-10-01" })).toBe("refused");
    expect(consentState(NOW, { status: "granted", [key]: "2027-01-01" })).toBe("granted");
    expect(consentState(NOW, { status: "granted", [key]: "01.10.2026" })).toBe("unknown");
    expect(consentState(NOW, { status: "granted", [key]: null })).toBe("granted");
  });

  test("no status outweighs a withdrawal", () => {
    fc.assert(
      fc.property(fc.anything(), fc.string({ minLength: 10, maxLength: 10 }), (status, day) => {
        expect(consentState(NOW, { status, granted: true, withdrawn_at: `on ${day}` })).toBe("refused");
      }),
    );
  });
});

describe("optedOut and optOutKnown", () => {
  test.each([
    [{ opted_out: true }, "out"],
    [{ opted_out: false }, "in"],
    [{ opted_out: false, opted_out_at: "2026-01-01" }, "out"],
    [{ opted_out: false, opted_out_at: "2025-01-01", opted_in_at: "2026-01-01" }, "in"],
    [{ opted_out: false, opted_out_at: "2026-01-01", opted_in_at: "2025-01-01" }, "out"],
    [{ opted_out: true, opted_in_at: "2026-01-01" }, "out"],
    [{ opted_out_at: "2026-01-01" }, "out"],
    [{ status: "opted_out" }, "out"],
    [{ status: "opted_in" }, "in"],
    [{ do_not_sell: true }, "out"],
    [{ sale: false }, "out"],
    [{ sale: true, sharing: true }, "in"],
    [{ opted_out: "false" }, "in"],
    [{ status: "opted_in", sale: "opted_out", sharing: "opted_out" }, "out"],
    [{ opted_out: false, sale: "no" }, "out"],
    [{ sale: true, sharing: "false" }, "out"],
    [{ sale: "yes", sharing: "permitted" }, "in"],
    [{ opted_out: false, sale: "partly" }, "unknown"],
    [{ opted_out: false, do_not_sell: 1 }, "unknown"],
    [{ opted_out: true, do_not_sell: 1 }, "out"],
    [{ opted_out: false, sharing_opt_out: true }, "out"],
    [{ opted_out: false, opted_out_of_sale: "yes" }, "out"],
    [{ opted_out: false, opt_out_of_sharing: 1 }, "unknown"],
    [{ opted_out: false, opted_out_of_sale: false }, "in"],
    [{ opted_out_of_sale: false }, "unknown"],
    [{ opted_out: false, do_not_sell: null }, "in"],
    [{ opted_out: false, doNotSell: true }, "out"],
    [{ opted_out: false, opt_out_on: "2026-01-01" }, "out"],
    [{ opted_out: false, opted_out_at: "last year", opted_in_at: "2026-01-01" }, "out"],
    [{ limit_sensitive: true }, "unknown"],
    [{}, "unknown"],
    [true, "out"],
    ["opted-out", "out"],
    ["perhaps", "unknown"],
    [null, "unknown"],
    [[true], "unknown"],
  ])("%j is %s", (record, state) => {
    expect(optedOut(record)).toBe(state === "out");
    expect(optOutKnown(record)).toBe(state !== "unknown");
  });
});

test("no junk makes any of these functions throw", () => {
  const record = fc.dictionary(
    fc.constantFrom(
      "status",
      "withdrawn_at",
      "expires_at",
      "granted",
      "opted_out",
      "sale",
      "opted_out_at",
      "__proto__",
    ),
    fc.anything({ withBigInt: true, withNullPrototype: true }),
  );
  fc.assert(
    fc.property(fc.oneof(fc.anything(), record), fc.anything(), (value, months) => {
      expect(["granted", "refused", "unknown"]).toContain(consentState(NOW, value));
      expect(optedOut(value) && !optOutKnown(value)).toBe(false);
      expect(daysSince(NOW, value)).toBeGreaterThanOrEqual(0);
      expect(typeof withinMonths(NOW, value, months)).toBe("boolean");
      expect(typeof nowBefore(NOW, value)).toBe("boolean");
    }),
    { numRuns: runs(2_000) },
  );
});
