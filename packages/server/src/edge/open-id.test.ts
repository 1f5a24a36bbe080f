/** Logins at a real OpenID provider, through the guarded client. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { proxyTrust } from "@countersign/core";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { client_id, client_secret, openIdProvider } from "../testing/open-id-provider.ts";
import { createHttpOut } from "./http-out.ts";
import { createOpenId } from "./open-id.ts";

const redirect_uri = "http://127.0.0.1:9/sso/callback";
const login = { state: "a-state", nonce: "a-nonce", code_verifier: "v".repeat(64) };
const ada = { sub: "ada-1", email: "ada@example.com", email_verified: true };

const local = createHttpOut({ rules: { allow_http: true, allow_networks: proxyTrust(["127.0.0.0/8"]) } });
afterAll(() => local.close());
const openId = createOpenId(local);
const provider = await openIdProvider(redirect_uri);
const account = { issuer: provider.issuer, client_id, client_secret };

async function begun(more: Partial<typeof login> = {}): Promise<string> {
  const answer = await openId.begin(account, { ...login, ...more }, redirect_uri, null);
  if ("failed" in answer) throw new Error(answer.text);
  return answer.location;
}

describe("a login", () => {
  test("goes to the provider with PKCE, state and nonce, and comes back with whom it vouches for", async () => {
    const location = new URL(await begun());
    expect(Object.fromEntries(location.searchParams)).toMatchObject({
      client_id,
      redirect_uri,
      response_type: "code",
      scope: "openid email",
      state: login.state,
      nonce: login.nonce,
      code_challenge_method: "S256",
    });
    expect(location.href).not.toContain(login.code_verifier);
    const callback = await provider.signIn(location.href, ada);
    expect(await openId.finish(account, login, callback.href)).toEqual({
      subject: "ada-1",
      email: "ada@example.com",
      email_verified: true,
    });
  });

  test("reads the address from the ID token where it is there, and asks no more", async () => {
    const other = await openIdProvider(redirect_uri, true);
    const there = { ...account, issuer: other.issuer };
    const answer = await openId.begin(there, login, redirect_uri, "ada@example.com");
    if ("failed" in answer) throw new Error(answer.text);
    expect(new URL(answer.location).searchParams.get("login_hint")).toBe("ada@example.com");
    const callback = await other.signIn(answer.location, ada);
    expect(await openId.finish(there, login, callback.href)).toMatchObject({ email: "ada@example.com" });
    expect(other.requests).toContain("POST /token");
    expect(other.requests).not.toContain("GET /me");
  });

  test("says whether the provider has seen that the address is theirs, and null for none", async () => {
    for (const [given, expected] of [
      [
        { sub: "b", email: "b@example.com", email_verified: false },
        { email: "b@example.com", email_verified: false },
      ],
      [
        { sub: "c", email: "c@example.com" },
        { email: "c@example.com", email_verified: false },
      ],
      [{ sub: "d" }, { email: null, email_verified: false }],
    ] as const) {
      const callback = await provider.signIn(await begun(), given);
      expect(await openId.finish(account, login, callback.href)).toEqual({ subject: given.sub, ...expected });
    }
  });

  test.each<[string, Partial<typeof login>]>([
    ["state", { state: "another" }],
    ["nonce", { nonce: "another" }],
    ["PKCE verifier", { code_verifier: "w".repeat(64) }],
  ])("is refused with another %s than it began with", async (_, other) => {
    const callback = await provider.signIn(await begun(), ada);
    expect(await openId.finish(account, { ...login, ...other }, callback.href)).toMatchObject({ failed: "refused" });
  });

  test("is refused for a code that was redeemed, for none, and for the provider's own refusal", async () => {
    const callback = (await provider.signIn(await begun(), ada)).href;
    expect(await openId.finish(account, login, callback)).toMatchObject({ subject: "ada-1" });
    expect(await openId.finish(account, login, callback)).toMatchObject({ failed: "refused" });
    for (const query of ["", "?state=a-state", "?state=a-state&code=junk", "?state=a-state&error=access_denied"])
      expect(await openId.finish(account, login, redirect_uri + query), query).toMatchObject({ failed: "refused" });
  });

  test("is refused with a wrong client secret", async () => {
    const callback = await provider.signIn(await begun(), ada);
    const answer = await openId.finish({ ...account, client_secret: "wrong" }, login, callback.href);
    expect(answer).toEqual({ failed: "refused", text: "The provider answered invalid_client." });
  });
});

describe("a provider", () => {
  /** One that answers as it likes. */
  async function fake(listener: (issuer: string) => RequestListener): Promise<string> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on("request", listener(issuer));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return issuer;
  }
  const begin = (issuer: string, by = openId) => by.begin({ ...account, issuer }, login, redirect_uri, null);

  test("inside the network, or without encryption, is not asked", async () => {
    const guarded = createHttpOut({ rules: { allow_http: false, allow_networks: [] } });
    onTestFinished(() => guarded.close());
    const strict = createOpenId(guarded);
    const before = provider.requests.length;
    for (const issuer of [provider.issuer, provider.issuer.replace("http:", "https:"), "https://169.254.169.254"])
      expect(await begin(issuer, strict), issuer).toMatchObject({ failed: "unreachable" });
    expect(provider.requests.length).toBe(before);
  });

  test("whose metadata names endpoints inside the network cannot have them asked", async () => {
    const asked: string[] = [];
    const inside = await fake(() => (request, response) => {
      asked.push(request.url ?? "");
      response.end("{}");
    });
    const evil = await fake((issuer) => (_, response) => {
      const metadata = {
        issuer,
        authorization_endpoint: `${issuer}/a`,
        token_endpoint: `${inside}/t`,
        jwks_uri: `${inside}/k`,
      };
      response.setHeader("content-type", "application/json").end(JSON.stringify(metadata));
    });
    const port = Number(new URL(evil).port);
    const only = createHttpOut({ rules: { allow_http: true, allow_networks: proxyTrust(["127.0.0.0/8"]) } });
    onTestFinished(() => only.close());
    // The guard of this test lets through the provider's own address and nothing else.
    const strict = createOpenId({
      ...only,
      ask: async (url, headers, body, terms) =>
        Number(new URL(url).port) === port
          ? only.ask(url, headers, body, terms)
          : { failed: "refused", text: "An address inside." },
    });
    const answer = await strict.finish(
      { ...account, issuer: evil },
      login,
      `${redirect_uri}?code=x&state=${login.state}`,
    );
    expect(answer).toEqual({ failed: "unreachable", text: "The provider gave no answer: An address inside." });
    expect(asked).toEqual([]);
  });

  test("that says it is another issuer, answers junk, or redirects is refused", async () => {
    const answers: RequestListener[] = [
      (_, response) => response.setHeader("content-type", "application/json").end('{"issuer":"https://other.example"}'),
      (_, response) => response.setHeader("content-type", "application/json").end("<html>"),
      (_, response) => response.writeHead(302, { location: provider.issuer }).end(),
      (_, response) => response.writeHead(404).end(),
    ];
    for (const answer of answers) {
      const issuer = await fake(() => answer);
      expect(await begin(issuer)).toMatchObject({ failed: "refused" });
    }
  });

  test.each([429, 500, 503])(
    "whose token endpoint answers %i is out of order: nobody's login is refused",
    async (status) => {
      const issuer = await fake((self) => (request, response) => {
        const [authorization_endpoint, token_endpoint, jwks_uri] = [`${self}/a`, `${self}/t`, `${self}/k`];
        const metadata = { issuer: self, authorization_endpoint, token_endpoint, jwks_uri };
        if (request.url === "/t") response.writeHead(status, { "content-type": "text/html" }).end("<h1>Back soon</h1>");
        else response.setHeader("content-type", "application/json").end(JSON.stringify(metadata));
      });
      const answer = await openId.finish({ ...account, issuer }, login, `${redirect_uri}?code=x&state=${login.state}`);
      expect(answer).toEqual({ failed: "unreachable", text: `The provider gave no answer: Its status was ${status}.` });
    },
  );
});
