import { describe, expect, test } from "vitest";
import { parseTimestampUs } from "../time.ts";
import { mergeFacts } from "./merge.ts";
import { freshUntilUs, freshView, isFresh, rawView, resolveLimits } from "./staleness.ts";

const us = (text: string): number => parseTimestampUs(text) ?? Number.NaN;
const marker = (path: string, reason: string): string => `${reason}:${path}`;
const view = (facts: object, as_of: string, now: string, ...layers: Record<string, number>[]) => {
  const merged = mergeFacts([{ source: "inline", received_us: us(as_of), document: { facts } }]);
  return freshView(merged, rawView(merged, marker), resolveLimits(layers), us(now), marker);
};
const noon = "2026-11-18T12:00:00Z";

describe("staleness", () => {
  test.each([
    ["environmental", "tls_version", 15 * 60],
    ["entity_state", "account_status", 5 * 60],
    ["regulatory", "dnc_registry_status", 24 * 3600],
    ["organizational", "ato_status", 7 * 86_400],
    ["organizational", "ssl_certificate_valid", 24 * 3600],
    ["organizational", "certificate_expiry_days", 24 * 3600],
    ["identity", "account_status", 3600],
    ["security", "siem_ref", 5 * 60],
  ] as const)("%s.%s is good for %d seconds and not a microsecond longer", (category, field, seconds) => {
    const merged = mergeFacts([
      { source: "org", received_us: 0, document: { facts: { [category]: { [field]: "x" } } } },
    ]);
    const limits = resolveLimits([]);
    const raw = rawView(merged, marker);
    expect(freshView(merged, raw, limits, seconds * 1e6, marker)).toBe(raw);
    expect(freshView(merged, raw, limits, seconds * 1e6 + 1, marker)[category][field]).toBe(
      `stale:facts.${category}.${field}`,
    );
    expect(freshUntilUs(merged, limits, category, field, seconds * 1e6)).toBe(seconds * 1e6);
    expect(freshUntilUs(merged, limits, category, field, seconds * 1e6 + 1)).toBeNull();
  });

  test("the recipient's local hour is fresh until the next hour begins", () => {
    const facts = { environmental: { recipient_local_hour: 19 } };
    expect(view(facts, "2026-11-18T19:01:00Z", "2026-11-18T19:59:59Z").environmental["recipient_local_hour"]).toBe(19);
    expect(view(facts, "2026-11-18T19:59:00Z", "2026-11-18T20:00:00Z").environmental["recipient_local_hour"]).toMatch(
      /^stale/,
    );
  });

  test("the local hour is fresh until the end of its hour", () => {
    const facts = { environmental: { recipient_local_hour: 19, tls_version: "1.3" } };
    const merged = mergeFacts([{ source: "inline", received_us: us("2026-11-18T19:59:00Z"), document: { facts } }]);
    const until = (field: string, now_us: number) =>
      freshUntilUs(merged, resolveLimits([]), "environmental", field, now_us);
    const [before, end] = [us("2026-11-18T19:59:59.999999Z"), us("2026-11-18T20:00:00Z")];
    expect([until("recipient_local_hour", before), until("recipient_local_hour", end)]).toEqual([end, null]);
    expect(until("tls_version", end)).toBe(us("2026-11-18T20:14:00Z"));
    expect(until("protocol", end)).toBeNull();
  });

  test.each([
    [[{ identity: "stored" }], "untrusted_source", "fresh"],
    [[{ identity: "attested" }], "fresh", "fresh"],
    [[{ identity: "stored", "identity.account_status": "reported" }], "fresh", "fresh"],
    [[{ identity: "reported" }, { "identity.account_status": "verified" }], "untrusted_source", "untrusted_source"],
    [[{ identity: "verified" }, { "identity.account_status": "reported" }], "untrusted_source", "untrusted_source"],
    [[{ security: "verified" }, null, undefined], "fresh", "fresh"],
    [[{ "identity.other": "verified" }], "fresh", "fresh"],
  ] as const)(
    "of the least assurances %j the strictest counts, a fact's before its category's",
    (layers, attested, pulled) => {
      for (const [source, expected] of [
        ["inline", attested],
        ["pulled", pulled],
      ] as const) {
        const document = { facts: { identity: { account_status: "a" } } };
        const merged = mergeFacts([
          { source, received_us: 0, document, assurance: source === "inline" ? "attested" : undefined },
        ]);
        const limits = resolveLimits([], layers);
        const seen = freshView(merged, rawView(merged, marker), limits, 0, marker).identity["account_status"];
        expect(seen).toBe(expected === "fresh" ? "a" : "untrusted_source:facts.identity.account_status");
        expect(freshUntilUs(merged, limits, "identity", "account_status", 0) !== null).toBe(expected === "fresh");
      }
    },
  );

  test("a container needs the highest assurance of its facts", () => {
    const facts = { regulatory: { tcpa: { consent: "granted" } } };
    const merged = mergeFacts([{ source: "inline", received_us: 0, document: { facts } }]);
    const limits = resolveLimits([], [{ "regulatory.tcpa_consent": "attested" }]);
    const seen = freshView(merged, rawView(merged, marker), limits, 0, marker).regulatory;
    expect(seen).toEqual({
      tcpa: "untrusted_source:facts.regulatory.tcpa",
      tcpa_consent: "untrusted_source:facts.regulatory.tcpa_consent",
    });
  });

  test("a limit of a membrane or policy also applies to the local hour", () => {
    const facts = { environmental: { recipient_local_hour: 12 } };
    const stale = view(facts, noon, "2026-11-18T12:03:00Z", { environmental: 120 });
    expect(stale.environmental["recipient_local_hour"]).toMatch(/^stale/);
  });

  test("a policy's limit wins over the membrane's, and a single fact over its category", () => {
    const facts = { organizational: { ato_status: "authorized", ssl_certificate_valid: true } };
    const later = "2026-11-18T13:00:00Z";
    const membrane = { organizational: 60 };
    expect(view(facts, noon, later, membrane).organizational).toEqual({
      ato_status: "stale:facts.organizational.ato_status",
      ssl_certificate_valid: "stale:facts.organizational.ssl_certificate_valid",
    });
    const policy = { "organizational.ato_status": 7200 };
    expect(view(facts, noon, later, membrane, policy).organizational["ato_status"]).toBe("authorized");
    expect(
      view(facts, noon, later, { "organizational.ato_status": 60 }, { organizational: 7200 }).organizational[
        "ato_status"
      ],
    ).toBe("authorized");
  });

  test("null facts are marked as null, old ones as stale and null; facts some minutes ahead are not stale", () => {
    const given = { security: { siem_ref: null, other: null } };
    const marked = (reason: string) => ({
      siem_ref: `${reason}:facts.security.siem_ref`,
      other: `${reason}:facts.security.other`,
    });
    expect(view(given, noon, noon).security).toEqual(marked("null"));
    expect(view(given, noon, "2027-01-01T00:00:00Z").security).toEqual(marked("unusable null"));
    expect(view({ security: { siem_ref: "a" } }, noon, "2026-11-18T11:56:00Z").security["siem_ref"]).toBe("a");
  });

  test("a fact too far ahead is stale, because a clock was wrong", () => {
    const facts = { security: { siem_ref: "a" }, environmental: { recipient_local_hour: 12 } };
    const before = "2026-11-18T11:55:00Z";
    expect(view(facts, noon, before)).toMatchObject(facts);
    expect(view(facts, noon, "2026-11-18T11:54:59.999999Z")).toMatchObject({
      security: { siem_ref: "stale:facts.security.siem_ref" },
      environmental: { recipient_local_hour: "stale:facts.environmental.recipient_local_hour" },
    });
    const merged = mergeFacts([{ source: "org", received_us: us(noon), document: { facts } }]);
    const until = (now_us: number) => freshUntilUs(merged, resolveLimits([]), "security", "siem_ref", now_us);
    expect([until(us(before)), until(us(before) - 1)]).toEqual([us(noon) + 300e6, null]);
  });

  test("every source's facts age by their own as-of time", () => {
    const merged = mergeFacts([
      { source: "org", received_us: us("2026-11-18T11:00:00Z"), document: { facts: { security: { siem_ref: "a" } } } },
      { source: "inline", received_us: us(noon), document: { facts: { security: { constructor: 1, other: 2 } } } },
    ]);
    const fresh = freshView(merged, rawView(merged, marker), resolveLimits([]), us(noon), marker);
    expect(fresh.security).toEqual({ siem_ref: "stale:facts.security.siem_ref", constructor: 1, other: 2 });
  });

  test("an old fact of a second source is stale next to fresh facts of the first", () => {
    const merged = mergeFacts([
      { source: "org", received_us: us(noon), document: { facts: { security: { siem_ref: "a" } } } },
      { source: "inline", received_us: us("2026-11-18T11:00:00Z"), document: { facts: { security: { other: 2 } } } },
    ]);
    const fresh = freshView(merged, rawView(merged, marker), resolveLimits([]), us(noon), marker);
    expect(fresh.security).toEqual({ siem_ref: "a", other: "stale:facts.security.other" });
  });

  test("a fact named like an Object.prototype member ages by its source", () => {
    const merged = mergeFacts([
      { source: "org", received_us: us("2026-11-18T11:00:00Z"), document: { facts: { security: { constructor: 1 } } } },
      { source: "inline", received_us: us(noon), document: { facts: { security: { other: 2 } } } },
    ]);
    const fresh = freshView(merged, rawView(merged, marker), resolveLimits([]), us(noon), marker);
    expect(fresh.security).toEqual({ constructor: "stale:facts.security.constructor", other: 2 });
  });

  test("a fact with the local hour's name in another category ages like that category", () => {
    const facts = { security: { recipient_local_hour: 12 } };
    const at = (now: string) => view(facts, "2026-11-18T11:59:00Z", now).security["recipient_local_hour"];
    expect([at("2026-11-18T12:04:00Z"), at("2026-11-18T12:04:00.000001Z")]).toEqual([
      12,
      expect.stringMatching(/^stale/),
    ]);
    const merged = mergeFacts([{ source: "org", received_us: us("2026-11-18T11:59:00Z"), document: { facts } }]);
    expect(freshUntilUs(merged, resolveLimits([]), "security", "recipient_local_hour", us(noon))).toBe(
      us("2026-11-18T12:04:00Z"),
    );
  });
});

describe("isFresh of a source's document", () => {
  const security_us = 300 * 1e6;
  const hour_us = 3_600 * 1e6;
  const age = (
    facts: object,
    age_us: number,
    { as_of, layers = [{}] }: { as_of?: Record<string, string>; layers?: Record<string, number>[] } = {},
  ) =>
    isFresh(
      { facts, ...(as_of === undefined ? {} : { as_of }) },
      us(noon),
      layers.map((layer) => resolveLimits([layer])),
      us(noon) + age_us,
    );

  test.each([-1, 0, 1])("it is as long as its limit, %d microseconds more", (more) => {
    expect(age({ security: { siem_ref: "a" } }, security_us + more)).toBe(more <= 0);
  });

  test("missing facts do not matter, and the shortest age limit counts", () => {
    expect(age({}, 400 * 86_400 * 1e6)).toBe(true);
    expect(age({ organizational: { ato_status: "authorized" } }, security_us + 1)).toBe(true);
    expect(age({ organizational: { ato_status: "authorized" }, security: { siem_ref: "a" } }, security_us + 1)).toBe(
      false,
    );
  });

  test("the strictest of several rules' limits counts", () => {
    const facts = { security: { siem_ref: "a" } };
    expect(age(facts, 60 * 1e6, { layers: [{ security: 600 }, { security: 60 }] })).toBe(true);
    expect(age(facts, 60 * 1e6 + 1, { layers: [{ security: 600 }, { security: 60 }] })).toBe(false);
    expect(age(facts, 60 * 1e6 + 1, { layers: [{ security: 60 }, { security: 600 }] })).toBe(false);
  });

  test("its age is the older of as_of and receipt", () => {
    const facts = { security: { siem_ref: "a" } };
    const [before, after] = [{ security: "2026-11-18T11:59:00Z" }, { security: "2026-11-18T13:00:00Z" }];
    expect(age(facts, security_us - 60 * 1e6, { as_of: before })).toBe(true);
    expect(age(facts, security_us - 60 * 1e6 + 1, { as_of: before })).toBe(false);
    expect(age(facts, security_us, { as_of: after })).toBe(true);
    expect(age(facts, security_us + 1, { as_of: after })).toBe(false);
  });

  test("with a local hour it is fresh until the next hour begins", () => {
    const layers = [{ environmental: 2 * 3_600, security: 2 * 3_600 }];
    expect(age({ environmental: { recipient_local_hour: 12 } }, hour_us - 1, { layers })).toBe(true);
    expect(age({ environmental: { recipient_local_hour: 12 } }, hour_us, { layers })).toBe(false);
    expect(age({ environmental: { tls_version: "1.3" } }, hour_us, { layers })).toBe(true);
    expect(age({ security: { recipient_local_hour: 12 } }, hour_us, { layers })).toBe(true);
  });
});
