import { limits, type TokenIssuer, tokenAlgorithms } from "@countersign/contract";
import { networkList, us_per_second } from "@countersign/core";
import type { JWTPayload } from "jose";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createHttpOut } from "../../edge/outgoing/http-out.ts";
import { testCertificates } from "../../testing/network/certificates.ts";
import { resolveToLoopback, testReceiver } from "../../testing/network/receiver.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { symmetricToken, tokenKey } from "../../testing/tokens.ts";
import { createAgentTokens } from "./agent-tokens.ts";

const now_s = 1_800_000_000;
const iss = "https://idp.example";
const claims: JWTPayload = { iss, sub: "billing-bot", aud: "countersign", exp: now_s + 300, jti: "one" };
let key: Awaited<ReturnType<typeof tokenKey>>;
beforeAll(async () => {
  key = await tokenKey("k1");
});

function issuerWith(given: Partial<TokenIssuer>): TokenIssuer {
  return {
    ...{ issuer_id: "iss_1", issuer: iss, trust_domain: null, jwks_url: null, jwks: null, audience: ["countersign"] },
    ...{ algorithms: [...tokenAlgorithms], claims: {}, leeway_seconds: 30, created_at: "2026-01-01" },
    ...given,
  };
}

function node() {
  const clock = { seconds: now_s, now_us: () => clock.seconds * us_per_second };
  const rules = { allow_http: false, allow_networks: networkList(["127.0.0.0/8"]) };
  const httpOut = createHttpOut({ rules, resolve: resolveToLoopback, ca: testCertificates().ca });
  onTestFinished(() => httpOut.close());
  // Long timeout, so that a busy machine is no slow issuer.
  const ask: typeof httpOut.ask = (to, headers, body, terms) =>
    httpOut.ask(to, headers, body, { ...terms, timeout_ms: 30_000 });
  return { clock, tokens: createAgentTokens({ clock, log: silentLog, httpOut: { ask } }) };
}

const pasted = () => issuerWith({ jwks: { keys: [key.jwk] } });
const check = (token: string, issuer = pasted()) => node().tokens.check("org_1", [issuer], token);

describe("a token", () => {
  test.each(["RS256", "PS256", "ES256", "ES384", "EdDSA"])("signed with %s proves its subject", async (alg) => {
    const other = await tokenKey("a", alg);
    expect(await check(await other.sign(claims), issuerWith({ jwks: { keys: [other.jwk] } }))).toEqual({
      proved: {
        issuer: iss,
        agent_id: "billing-bot",
        chain: ["billing-bot"],
        facts: {},
        id_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        expires_us: (now_s + 330) * us_per_second,
      },
    });
  });

  test("without kid is checked with every key that fits", async () => {
    const keys = [(await tokenKey("x")).jwk, key.jwk, (await tokenKey("y")).jwk];
    expect(await check(await key.sign(claims, { kid: null }), issuerWith({ jwks: { keys } }))).toHaveProperty("proved");
    const stranger = await tokenKey("z");
    expect(await check(await stranger.sign(claims, { kid: null }), issuerWith({ jwks: { keys } }))).toEqual({
      problem: "signature",
    });
  });

  test.each<[string, JWTPayload, string]>([
    ["expired longer ago than the leeway", { exp: now_s - 30 }, "expired"],
    ["without exp", { exp: undefined as unknown as number }, "expired"],
    ["not valid yet", { nbf: now_s + 31 }, "not_yet_valid"],
    ["for another audience", { aud: ["other", "Countersign"] }, "audience"],
    ["without audience", { aud: undefined as unknown as string }, "audience"],
    ["of an unknown issuer", { iss: `${iss}/` }, "issuer_unknown"],
    ["without subject", { sub: undefined as unknown as string }, "malformed"],
    ["for an id that no agent can have", { sub: "x".repeat(limits.agent_id_chars_max + 1) }, "malformed"],
    ["with a jti that is no text", { jti: 7 as unknown as string }, "malformed"],
    ["that lives for ever", { exp: 1e300 }, "malformed"],
    ["with an actor without subject", { act: { client: "x" } }, "malformed"],
  ])("%s proves nothing", async (_, change, problem) => {
    expect(await check(await key.sign({ ...claims, ...change }))).toEqual({ problem });
  });

  test("within the leeway counts", async () => {
    expect(await check(await key.sign({ ...claims, exp: now_s - 29, nbf: now_s + 30 }))).toHaveProperty("proved");
  });

  test("with a wrong, missing or symmetric signature proves nothing", async () => {
    const good = await key.sign(claims);
    const [header, payload] = good.split(".");
    const [, , foreign] = (await key.sign({ ...claims, sub: "other" })).split(".");
    expect(await check(`${header}.${payload}.${foreign}`)).toEqual({ problem: "signature" });
    const none = Buffer.from(JSON.stringify({ alg: "none" })).toString("base64url");
    expect(await check(`${none}.${payload}.`)).toEqual({ problem: "algorithm" });
    const confused = await symmetricToken(claims, JSON.stringify(key.jwk));
    expect(await check(confused)).toEqual({ problem: "algorithm" });
  });

  test.each(["", "x", "a.b.c", `${"x".repeat(limits.agent_token_bytes_max)}.e30.e30`])(
    "that is no JWT is malformed: %j",
    async (token) => {
      expect(await check(token)).toEqual({ problem: "malformed" });
    },
  );

  test("counts only with its issuer's trusted algorithms", async () => {
    const narrow = issuerWith({ jwks: { keys: [key.jwk] }, algorithms: ["RS256"] });
    expect(await check(await key.sign(claims), narrow)).toEqual({ problem: "algorithm" });
  });
});

describe("the proved agent", () => {
  const chainOf = async (change: JWTPayload, issuer = pasted()) => {
    const checked = await check(await key.sign({ ...claims, ...change }), issuer);
    return "proved" in checked ? [checked.proved.agent_id, ...checked.proved.chain] : checked.problem;
  };

  test("token exchange: the actor is the agent, and the chain begins with the subject", async () => {
    expect(await chainOf({ sub: "ann", act: { sub: "planner", act: { sub: "mailer" } } })).toEqual([
      ...["planner"],
      ...["ann", "mailer", "planner"],
    ]);
  });

  test("a chain has at most eight members", async () => {
    const nested = (depth: number): JWTPayload =>
      depth === 0 ? {} : { act: { sub: `a${depth}`, ...nested(depth - 1) } };
    expect(await chainOf(nested(limits.delegation_chain_max - 1))).toHaveLength(limits.delegation_chain_max + 1);
    expect(await chainOf(nested(limits.delegation_chain_max))).toBe("malformed");
  });

  test("a SPIFFE JWT-SVID: the trust domain of its subject names the issuer", async () => {
    const svid = issuerWith({ issuer: null, trust_domain: "prod.example", jwks: { keys: [key.jwk] } });
    const sub = "spiffe://prod.example/billing-bot";
    expect(await chainOf({ iss: undefined as unknown as string, sub }, svid)).toEqual([sub, sub]);
    for (const other of ["spiffe://prod.example.evil/x", "spiffe://dev.example/x", "prod.example"])
      expect(await chainOf({ sub: other }, svid)).toBe("issuer_unknown");
  });

  test("a claim by name, and by JSON Pointer", async () => {
    const named = (claim: string) =>
      issuerWith({ jwks: { keys: [key.jwk] }, claims: { authenticated_agent_id: claim } });
    const given = { "https://acme.example/agent": "by-name", ext: { "a/b": "by-pointer" } };
    expect(await chainOf(given, named("https://acme.example/agent"))).toEqual(["by-name", "billing-bot"]);
    expect(await chainOf(given, named("/ext/a~1b"))).toEqual(["by-pointer", "billing-bot"]);
    expect(await chainOf(given, named("toString"))).toBe("malformed");
  });

  test("claims give further facts; a missing claim gives none, and an object is malformed", async () => {
    const issuer = issuerWith({
      jwks: { keys: [key.jwk] },
      claims: { assigned_permissions: "/ext/roles", level: "lvl" },
    });
    const facts = async (ext: unknown) => {
      const checked = await check(await key.sign({ ...claims, ext }), issuer);
      return "proved" in checked ? checked.proved.facts : checked.problem;
    };
    expect(await facts({ roles: ["pay"] })).toEqual({ assigned_permissions: ["pay"] });
    expect(await facts({ roles: [{ deep: 1 }] })).toBe("malformed");
  });
});

describe("keys by URL", () => {
  async function served() {
    const answer = { status: 200, text: JSON.stringify({ keys: [key.jwk] }) };
    const receiver = await testReceiver((response) => response.writeHead(answer.status).end(answer.text));
    const { clock, tokens } = node();
    const issuer = issuerWith({ jwks_url: receiver.url });
    const next = await tokenKey("k2");
    const ask = async (by: typeof key) => {
      const result = await tokens.check("org_1", [issuer], await by.sign({ ...claims, exp: clock.seconds + 60 }));
      return "proved" in result ? "proved" : result.problem;
    };
    return { answer, receiver, clock, next, ask, tokens, issuer };
  }

  test("many tokens at once share one fetch, and a fresh set is not fetched again", async () => {
    const { receiver, ask } = await served();
    expect(new Set(await Promise.all(Array.from({ length: 20 }, () => ask(key))))).toEqual(new Set(["proved"]));
    expect(await ask(key)).toBe("proved");
    expect(receiver.received).toHaveLength(1);
  });

  test("rotation: a new key counts after one fetch, at most every 30 s, and a removed key no longer counts", async () => {
    const { answer, receiver, clock, next, ask } = await served();
    expect(await ask(key)).toBe("proved");
    answer.text = JSON.stringify({ keys: [next.jwk] });
    expect(await ask(next)).toBe("key_unknown");
    expect(receiver.received).toHaveLength(1);
    clock.seconds += limits.jwks_unknown_key_seconds;
    expect([await ask(next), await ask(key)]).toEqual(["proved", "key_unknown"]);
    expect(receiver.received).toHaveLength(2);
  });

  test("a removed key counts no longer than the set is fresh", async () => {
    const { answer, clock, next, ask } = await served();
    expect(await ask(key)).toBe("proved");
    answer.text = JSON.stringify({ keys: [next.jwk] });
    clock.seconds += limits.jwks_fresh_seconds - 1;
    expect(await ask(key)).toBe("proved");
    clock.seconds += 1;
    expect(await ask(key)).toBe("key_unknown");
  });

  test("a set that cannot be fetched again is used for a day; then tokens cannot be checked", async () => {
    const { answer, receiver, clock, ask } = await served();
    expect(await ask(key)).toBe("proved");
    answer.status = 500;
    clock.seconds += limits.jwks_kept_seconds - 1;
    expect([await ask(key), await ask(key)]).toEqual(["proved", "proved"]);
    expect(receiver.received).toHaveLength(2); // the failed fetch is not repeated at once
    clock.seconds += 1;
    expect(await ask(key)).toBe("keys_unreachable");
    answer.status = 200;
    clock.seconds += limits.jwks_failure_seconds;
    expect(await ask(key)).toBe("proved");
  });

  test("a set that could never be fetched: no server, or a wrong answer", async () => {
    const { answer, receiver, clock, ask } = await served();
    for (const text of ["no JSON", "{}", JSON.stringify({ keys: "x" }), `{"keys":[],"x":"${"x".repeat(70_000)}"}`]) {
      answer.text = text;
      expect(await ask(key), text.slice(0, 20)).toBe("keys_unreachable");
      clock.seconds += limits.jwks_failure_seconds;
    }
    await receiver.close();
    expect(await ask(key)).toBe("keys_unreachable");
  });

  test("private and symmetric keys of a fetched set are left out", async () => {
    const { answer, next, ask } = await served();
    answer.text = JSON.stringify({
      keys: [{ ...next.private_jwk, kid: "k2" }, { kty: "oct", k: "c2VjcmV0", kid: "s" }, key.jwk],
    });
    expect([await ask(key), await ask(next)]).toEqual(["proved", "key_unknown"]);
  });
});
