/** Source: docs/decisions/0044. */
import { limits } from "@countersign/contract";
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { liveMembrane } from "../../src/testing/people/live-membrane.ts";
import { tokenKey } from "../../src/testing/tokens.ts";

const database = await testDatabase();
let url: string;
let key: Awaited<ReturnType<typeof tokenKey>>;
beforeAll(async () => {
  ({ url } = await serviceNode(database));
  key = await tokenKey("k1");
});
const good = (issuer = "https://idp.example") => ({ issuer, jwks: { keys: [key.jwk] }, audience: ["countersign"] });

test("an issuer is added, listed, replaced and removed, and the audit trail says so", async () => {
  const own = await liveMembrane(database.db, url);
  const added = await own.ask("POST", "/token-issuers", good());
  expect(added.status).toBe(201);
  const { token_issuer } = added.json;
  expect(token_issuer).toMatchObject({
    issuer: "https://idp.example",
    trust_domain: null,
    jwks_url: null,
    leeway_seconds: 30,
  });
  expect((await own.ask("GET", "/token-issuers", undefined, await own.key("auditor"))).json).toEqual({
    token_issuers: [token_issuer],
  });
  const path = `/token-issuers/${token_issuer.issuer_id}`;
  const replaced = await own.ask("PUT", path, { ...good(), audience: ["other"], leeway_seconds: 0 });
  expect([replaced.status, replaced.json.token_issuer.audience]).toEqual([200, ["other"]]);
  expect((await own.ask("DELETE", path)).status).toBe(204);
  expect((await own.ask("GET", "/token-issuers")).json).toEqual({ token_issuers: [] });
  for (const [method, body] of [
    ["DELETE", undefined],
    ["PUT", good()],
  ] as const)
    expect((await own.ask(method, path, body)).status).toBe(404);
  const rows = await database.db.query<{ type: string }>(
    "select type from ledger where org_id = $1 and type like 'token_issuer_%' order by seq",
    [own.org.org_id],
  );
  expect(rows.map(({ type }) => type)).toEqual(["token_issuer_added", "token_issuer_replaced", "token_issuer_removed"]);
});

describe("refused with", () => {
  test.each<[string, () => object, string]>([
    ["no issuer", () => ({ ...good(), issuer: undefined }), "/issuer"],
    ["an issuer and a trust domain", () => ({ ...good(), trust_domain: "a.example" }), "/issuer"],
    [
      "a trust domain with a scheme",
      () => ({ ...good(), issuer: undefined, trust_domain: "spiffe://a" }),
      "/trust_domain",
    ],
    ["no keys", () => ({ ...good(), jwks: undefined }), "/jwks_url"],
    ["two places of keys", () => ({ ...good(), jwks_url: "https://idp.example/jwks" }), "/jwks_url"],
    ["an empty key set", () => ({ ...good(), jwks: { keys: [] } }), "/jwks/keys"],
    ["a private key", () => ({ ...good(), jwks: { keys: [key.jwk, key.private_jwk] } }), "/jwks/keys/1"],
    ["a symmetric key", () => ({ ...good(), jwks: { keys: [{ kty: "oct", k: "c2VjcmV0" }] } }), "/jwks/keys/0"],
    ["a key that cannot be read", () => ({ ...good(), jwks: { keys: [{ kty: "EC", crv: "P-256" }] } }), "/jwks/keys/0"],
    [
      "a large key set",
      () => ({ ...good(), jwks: { keys: [key.jwk], x: "x".repeat(limits.jwks_bytes_max) } }),
      "/jwks",
    ],
    ["a symmetric algorithm", () => ({ ...good(), algorithms: ["HS256"] }), "/algorithms/0"],
    ["no audience", () => ({ ...good(), audience: [] }), "/audience"],
    ["a long leeway", () => ({ ...good(), leeway_seconds: 301 }), "/leeway_seconds"],
  ])("400: %s", async (_, body, path) => {
    const own = await liveMembrane(database.db, url);
    const refused = await own.ask("POST", "/token-issuers", body());
    expect([refused.status, refused.json.error.code]).toEqual([400, "invalid_request"]);
    expect(refused.json.error.details[0].path).toBe(path);
  });

  test.each([
    "http://idp.example/jwks",
    "https://127.0.0.1/jwks",
    "https://169.254.169.254/",
    "https://u:p@idp.example/",
  ])("400: the address %s", async (jwks_url) => {
    const own = await liveMembrane(database.db, url);
    const refused = await own.ask("POST", "/token-issuers", { ...good(), jwks: undefined, jwks_url });
    expect([refused.status, refused.json.error.code]).toEqual([400, "webhook_url_refused"]);
  });

  test("409: the same issuer twice, and more issuers than an organization may have", async () => {
    const own = await liveMembrane(database.db, url);
    const first = await own.ask("POST", "/token-issuers", good());
    expect((await own.ask("POST", "/token-issuers", good())).json.error.code).toBe("already_exists");
    for (let n = 1; n < limits.token_issuers_per_organization_max; n++)
      expect((await own.ask("POST", "/token-issuers", good(`https://${n}.example`))).status).toBe(201);
    expect((await own.ask("POST", "/token-issuers", good("https://more.example"))).status).toBe(409);
    const path = `/token-issuers/${first.json.token_issuer.issuer_id}`;
    expect((await own.ask("PUT", path, good("https://1.example"))).status).toBe(409);
    expect((await own.ask("PUT", path, good())).status).toBe(200);
  });

  test("401 and 403: callers who are no admins change nothing", async () => {
    const own = await liveMembrane(database.db, url);
    const { issuer_id } = (await own.ask("POST", "/token-issuers", good())).json.token_issuer;
    for (const role of ["operator", "agent", "auditor"] as const) {
      const other = await own.key(role);
      expect((await own.ask("POST", "/token-issuers", good("https://x.example"), other)).status).toBe(403);
      expect((await own.ask("PUT", `/token-issuers/${issuer_id}`, good(), other)).status).toBe(403);
      expect((await own.ask("DELETE", `/token-issuers/${issuer_id}`, undefined, other)).status).toBe(403);
    }
    expect((await own.ask("GET", "/token-issuers", undefined, await own.key("agent"))).status).toBe(403);
    expect((await call(url, "GET", "/v1/token-issuers", {})).status).toBe(401);
    const stranger = await liveMembrane(database.db, url);
    expect((await stranger.ask("DELETE", `/token-issuers/${issuer_id}`)).status).toBe(404);
  });
});
