import { describe, expect, expectTypeOf, it } from "vitest";
import {
  type AuditRecord,
  type AuditType,
  apiKeyFormat,
  type BatchAnswer,
  type Decision,
  type ErrorCode,
  type ErrorObject,
  errorCodes,
  eventTypes,
  fact_key_pattern,
  factCategories,
  factCategoryNames,
  type IdKind,
  idPattern,
  idPrefixes,
  operationRows,
  operations,
  type Role,
  rateCategories,
  refusalsOf,
  roleMeets,
  roleNames,
  type SentEventType,
  settings,
  type UsedFacts,
  usStateCodes,
  type Webhook,
  type WebhookInput,
} from "./index.ts";

const suffix = "01JABCDEFGHJKMNPQRSTVWXYZ0";

describe("identifiers", () => {
  const kinds = Object.keys(idPrefixes) as IdKind[];

  it("have a prefix of their own per kind, and 26 base-32 characters", () => {
    expect(new Set(Object.values(idPrefixes)).size).toBe(kinds.length);
    for (const kind of kinds) {
      const pattern = new RegExp(idPattern(kind));
      expect(pattern.test(`${idPrefixes[kind]}${suffix}`)).toBe(true);
      for (const wrong of [
        suffix,
        `${idPrefixes[kind]}${suffix}0`,
        `${idPrefixes[kind]}${suffix.slice(1)}`,
        `x${idPrefixes[kind]}${suffix}`,
      ]) {
        expect(pattern.test(wrong), wrong).toBe(false);
      }
      expect(pattern.test(`${idPrefixes[kind]}${suffix.toLowerCase()}`)).toBe(false);
    }
  });
  it.each(["I", "L", "O", "U"])("never hold %s", (letter) => {
    expect(new RegExp(idPattern("intent")).test(`int_${letter}${suffix.slice(1)}`)).toBe(false);
  });
  it("org_local is an organization, and no other kind has an exception", () => {
    expect(new RegExp(idPattern("organization")).test("org_local")).toBe(true);
    expect(new RegExp(idPattern("membrane")).test("mem_local")).toBe(false);
  });
  it("API keys are taken apart from the left", () => {
    const random = "a".repeat(38);
    expect(new RegExp(apiKeyFormat.pattern).exec(`svc_live_org_${random}`)?.slice(1)).toEqual(["live", "org", random]);
    for (const wrong of [
      "svc_live_org_",
      `svc_prod_org_${random}`,
      `svc_live_org_${random}_`,
      `svc_live_org_${"a".repeat(31)}`,
    ]) {
      expect(new RegExp(apiKeyFormat.pattern).test(wrong), wrong).toBe(false);
    }
  });
});

describe("roles", () => {
  it.each<[Role, string]>([
    ["admin", "admin operator reviewer"],
    ["operator", "operator reviewer"],
    ["reviewer", "reviewer"],
    ["host", "host"],
    ["agent", "agent"],
    ["auditor", "auditor"],
  ])("%s meets %s and nothing else", (role, met) => {
    expect(roleNames.filter((least) => roleMeets(role, [least]))).toEqual(met.split(" "));
    expect(roleMeets(role, "any")).toBe(true);
  });
  it("an auditor may call no operation of a role that changes something", () => {
    for (const [id, { auth, method }] of operationRows) {
      const changes = method !== "GET" && id !== "checkPolicy";
      if (typeof auth !== "string" && changes) expect(roleMeets("auditor", auth), id).toBe(false);
    }
  });
});

describe("error codes", () => {
  it("have exactly the statuses of the API design", () => {
    const counts: Record<number, number> = {};
    for (const { status } of Object.values(errorCodes)) counts[status] = (counts[status] ?? 0) + 1;
    expect(counts).toEqual({
      400: 6, // invalid_agent_token: docs/decisions/0044
      401: 5, // invalid_credentials: docs/decisions/0016, invalid_signature: docs/decisions/0058
      402: 1,
      403: 6, // second_factor_required: docs/decisions/0061, confirmation_*: 0067
      404: 1,
      405: 1,
      409: 12, // review_queue_full, blocked_now, frozen, already_claimed, handed_on, reason_required, legal_hold: docs/decisions/0011, 0034, 0036, 0037, 0039, 0065
      410: 1, // erased: docs/decisions/0065
      413: 1,
      415: 1,
      422: 4, // invalid_binding: docs/decisions/0041
      429: 1,
      500: 1,
      503: 3,
    });
  });
  it("an operation refuses what its row implies", () => {
    const submit = refusalsOf(operations.submitIntent);
    for (const code of [
      "missing_api_key",
      "rate_limit_exceeded",
      "payload_too_large",
      "invalid_context",
      "internal_error",
    ] as const) {
      expect(submit.has(code), code).toBe(true);
    }
    expect([...refusalsOf(operations.getHealth)]).toEqual(["internal_error"]);
    expect(refusalsOf(operations.createApiKey).has("forbidden")).toBe(true);
    expect(refusalsOf(operations.getUsage).has("forbidden")).toBe(true);
    expect(refusalsOf(operations.intake).has("forbidden")).toBe(false);
  });
});

describe("event types", () => {
  it("are eleven that are sent and four that are not", () => {
    expect(Object.values(eventTypes).filter(({ sent }) => sent)).toHaveLength(11);
    expect(Object.values(eventTypes).filter(({ sent }) => !sent)).toHaveLength(4);
  });
});

describe("facts", () => {
  it("are as many per category as the contract lists", () => {
    const counts = Object.fromEntries(factCategoryNames.map((name) => [name, factCategories[name].fields.length]));
    expect(counts).toEqual({
      environmental: 14,
      entity_state: 2,
      regulatory: 27,
      organizational: 30,
      identity: 8,
      security: 4,
    });
  });
  it("have names that match the pattern for keys, each once per category", () => {
    for (const { fields } of Object.values(factCategories)) {
      const names = fields.map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
      for (const name of names) expect(name).toMatch(new RegExp(fact_key_pattern));
    }
  });
  it("know 50 states, the district, 8 territories and 3 military codes", () => {
    expect(new Set(usStateCodes).size).toBe(62);
  });
});

describe("settings and rates", () => {
  it("each setting has its own name as its key", () => {
    for (const [key, { name }] of Object.entries(settings)) expect(name).toBe(key);
  });
  it("the rate category of authentication covers few operations and counts by client address", () => {
    const of_authentication = operationRows.filter(([, { rate }]) => rate === "authentication").map(([id]) => id);
    expect(of_authentication.sort()).toEqual(["login", "signup", "verifyMfa"]);
    const by_address = Object.entries(rateCategories).filter(([, { counted_by }]) => counted_by === "ip");
    expect(by_address.map(([name]) => name)).toEqual(["authentication"]);
  });

  it("rates are those of the contract", () => {
    const rates = Object.fromEntries(Object.entries(rateCategories).map(([name, row]) => [name, row.requests_max]));
    expect(rates).toEqual({ intents: 120, backtest: 5, onboarding: 10, authentication: 5, general: 120 });
  });
});

it("types are as narrow as the tables", () => {
  expectTypeOf<ErrorObject["error"]["code"]>().toEqualTypeOf<ErrorCode>();
  expectTypeOf<AuditRecord["type"]>().toEqualTypeOf<AuditType>();
  expectTypeOf<Decision["verdict"]>().toEqualTypeOf<"approve" | "approve_modified" | "escalate" | "block">();
  expectTypeOf<Decision["escalation_id"]>().toEqualTypeOf<string | null>();
  expectTypeOf<Webhook["event_types"][number]>().toEqualTypeOf<keyof typeof eventTypes>();
  expectTypeOf<NonNullable<WebhookInput["event_types"]>[number]>().toEqualTypeOf<keyof typeof eventTypes>();
  expectTypeOf<keyof UsedFacts>().toEqualTypeOf<(typeof factCategoryNames)[number]>();
  expectTypeOf<Extract<BatchAnswer["results"][number], { success: true }>["decision"]>().toEqualTypeOf<Decision>();
  expectTypeOf<Extract<BatchAnswer["results"][number], { success: false }>>().toHaveProperty("error");
  expectTypeOf<Extract<SentEventType, "pattern.detected">>().toBeNever();
});
