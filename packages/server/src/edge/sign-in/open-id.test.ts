import { generateKeyPairSync, sign } from "node:crypto";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { limits } from "@countersign/contract";
import { networkList } from "@countersign/core";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { client_id, client_secret, openIdProvider } from "../../testing/people/open-id-provider.ts";
import { createHttpOut } from "../outgoing/http-out.ts";
import { createOpenId } from "./open-id.ts";

const redirect_uri = "http://127.0.0.1:9/sso/callback";
const login = { state: "a-state", nonce: "a-nonce", code_verifier: "v".repeat(64) };
const ada = { sub: "ada-1", email: "ada@example.com", email_verified: true, name: "Ada Lovelace" };

const local = createHttpOut({ rules: { allow_http: true, allow_networks: networkList(["127.0.0.0/8"]) } });
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
  test("uses PKCE, state and nonce, and returns the provider's user", async () => {
    const location = new URL(await begun());
    expect(Object.fromEntries(location.searchParams)).toMatchObject({
      client_id,
      redirect_uri,
      response_type: "code",
      scope: "openid email profile",
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
      name: "Ada Lovelace",
      multi_factor: false,
    });
  });

  test("reads the address from the ID token if present, without asking the provider again", async () => {
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

  test("returns whether the provider has verified the address; null if there is no address", async () => {
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
      expect(await openId.finish(account, login, callback.href)).toMatchObject({ subject: given.sub, ...expected });
    }
  });

  test.each<[string, Partial<typeof login>]>([
    ["state", { state: "another" }],
    ["nonce", { nonce: "another" }],
    ["PKCE verifier", { code_verifier: "w".repeat(64) }],
  ])("is refused with another %s than at its start", async (_, other) => {
    const callback = await provider.signIn(await begun(), ada);
    expect(await openId.finish(account, { ...login, ...other }, callback.href)).toMatchObject({ failed: "refused" });
  });

  test("is refused for a used code, for no code, and if the provider refuses", async () => {
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
  const unauthorized = (response: ServerResponse) => {
    response.statusCode = 401;
    return response;
  };
  const json = (response: ServerResponse, body: object) =>
    response.setHeader("content-type", "application/json").end(JSON.stringify(body));
  const begin = (issuer: string, by = openId) => by.begin({ ...account, issuer }, login, redirect_uri, null);

  test("inside the network, or without encryption, gets no request", async () => {
    const guarded = createHttpOut({ rules: { allow_http: false, allow_networks: [] } });
    onTestFinished(() => guarded.close());
    const strict = createOpenId(guarded);
    const before = provider.requests.length;
    for (const issuer of [provider.issuer, provider.issuer.replace("http:", "https:"), "https://169.254.169.254"])
      expect(await begin(issuer, strict), issuer).toMatchObject({ failed: "unreachable" });
    expect(provider.requests.length).toBe(before);
  });

  test("whose metadata names endpoints inside the network gets no request there", async () => {
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
    const only = createHttpOut({ rules: { allow_http: true, allow_networks: networkList(["127.0.0.0/8"]) } });
    onTestFinished(() => only.close());
    // Allows only the provider's own address.
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

  test("that names another issuer, answers junk, or redirects is refused with the reason", async () => {
    for (const slash of ["", "/"]) {
      const another = await fake((self) => (_, response) => json(response, { issuer: `${self}/realm${slash}` }));
      expect(await begin(`${another}/realm${slash === "" ? "/" : ""}`)).toEqual({
        failed: "refused",
        text: "The provider's metadata names another issuer. Enter it exactly as in the metadata, including a slash at its end.",
      });
    }
    const answers: [RequestListener, code: string][] = [
      [(_, response) => response.setHeader("content-type", "application/json").end("<html>"), "OAUTH_PARSE_ERROR"],
      [(_, response) => response.end("<html>"), "OAUTH_RESPONSE_IS_NOT_JSON"],
      [(_, response) => response.writeHead(302, { location: provider.issuer }).end(), "OAUTH_RESPONSE_IS_NOT_CONFORM"],
      [(_, response) => response.writeHead(404).end(), "OAUTH_RESPONSE_IS_NOT_CONFORM"],
    ];
    for (const [answer, code] of answers) {
      const issuer = await fake(() => answer);
      expect(await begin(issuer)).toEqual({
        failed: "refused",
        text: `The provider's answer is not valid (${code}).`,
      });
    }
  });

  test("whose authorization endpoint is longer than our answers allow is refused", async () => {
    const issuer = await fake((self) => (_, response) => {
      json(response, { issuer: self, authorization_endpoint: `${self}/${"a".repeat(limits.sso_location_chars_max)}` });
    });
    expect(await begin(issuer)).toEqual({
      failed: "refused",
      text: "The provider's authorization endpoint is too long.",
    });
  });

  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");

  async function finished(
    claims: object,
    userinfo?: object | number,
    more: { readonly methods?: string[]; readonly takes?: string; readonly callback?: string } = {},
  ) {
    const tried: string[] = [];
    const issuer = await fake((self) => (request, response) => {
      const iat = Math.floor(Date.now() / 1_000);
      const who = { iss: self, aud: client_id, sub: ada.sub, nonce: login.nonce, iat, exp: iat + 1, ...claims };
      const signed = `${encoded({ alg: "ES256" })}.${encoded(who)}`;
      const signature = sign("sha256", Buffer.from(signed), { key: privateKey, dsaEncoding: "ieee-p1363" });
      const id_token = `${signed}.${signature.toString("base64url")}`;
      const way = request.headers.authorization === undefined ? "form" : "header";
      if (request.url === "/t") tried.push(way);
      if (request.url === "/t" && way !== (more.takes ?? way))
        json(unauthorized(response), { error: "invalid_client" });
      else if (request.url === "/t") json(response, { access_token: "a", token_type: "bearer", id_token });
      else if (request.url === "/k") json(response, { keys: [publicKey.export({ format: "jwk" })] });
      else if (request.url === "/me" && typeof userinfo === "object") json(response, { sub: ada.sub, ...userinfo });
      else if (request.url === "/me") response.writeHead(Number(userinfo)).end();
      else
        json(response, {
          issuer: self,
          token_endpoint: `${self}/t`,
          jwks_uri: `${self}/k`,
          id_token_signing_alg_values_supported: ["ES256"],
          ...(more.methods === undefined ? {} : { token_endpoint_auth_methods_supported: more.methods }),
          ...(userinfo === undefined ? {} : { userinfo_endpoint: `${self}/me` }),
        });
    });
    const person = await openId.finish(
      { ...account, issuer },
      login,
      `${redirect_uri}?code=x&state=${login.state}${more.callback ?? ""}`,
    );
    return more.takes === undefined ? person : { ...person, tried };
  }

  const [basic, post] = ["client_secret_basic", "client_secret_post"];
  test.each([
    [undefined, "header", ["header"], true],
    [[basic, post], "header", ["header"], true],
    [[basic, post], "form", ["header", "form"], true],
    [["private_key_jwt", post], "form", ["form"], true],
    [[post], "header", ["form"], false],
    [[basic], "form", ["header"], false],
    [[basic, post], "neither", ["header", "form"], false],
  ])(
    "that announces %j for the secret and accepts it in the %s gets it by %j",
    async (methods, takes, tried, enters) => {
      const answer = await finished(ada, undefined, { takes, ...(methods === undefined ? {} : { methods }) });
      const refusal = { failed: "refused", text: "The provider answered invalid_client." };
      const others = { name: ada.name, multi_factor: false };
      expect(answer).toEqual({
        ...(enters ? { subject: ada.sub, email: ada.email, email_verified: true, ...others } : refusal),
        tried,
      });
    },
  );

  const [hers, another] = [ada.email, "eve@example.com"];
  test.each([
    ["verified in both", { email: hers, email_verified: true }, { email: another, email_verified: false }, hers, true],
    ["verified in userinfo only", { email: hers }, { email: hers, email_verified: true }, hers, true],
    ["another one verified there", { email: hers }, { email: another, email_verified: true }, another, true],
    ["none there, whatever is verified", { email: hers }, { email_verified: true }, hers, false],
    [
      "not verified, whatever is said there",
      { email: hers, email_verified: false },
      { email: hers, email_verified: true },
      hers,
      false,
    ],
    ["not verified there either", { email: hers }, { email: hers }, hers, false],
    ["no userinfo to ask", { email: hers }, undefined, hers, false],
    ["an address there only", { email_verified: true }, { email: hers, email_verified: true }, hers, true],
    ["an address there that is not verified there", { email_verified: true }, { email: hers }, hers, false],
  ] as const)("that returns an address: %s", async (_, claims, userinfo, email, email_verified) => {
    expect(await finished(claims, userinfo)).toMatchObject({ subject: ada.sub, email, email_verified });
  });

  test.each([
    ["more than one factor in the ID token", { ...ada, amr: ["pwd", "mfa"] }, undefined, true],
    ["one factor", { ...ada, amr: ["pwd"] }, undefined, false],
    ["an amr that is no list", { ...ada, amr: "mfa" }, undefined, false],
    ["more than one factor in user info only", { email: hers }, { ...ada, amr: ["mfa"] }, false],
  ] as const)("that says %s", async (_, claims, userinfo, multi_factor) => {
    expect(await finished(claims, userinfo)).toMatchObject({ subject: ada.sub, name: ada.name, multi_factor });
  });

  test("whose user info is malformed or refused logs nobody in with partial data", async () => {
    expect(await finished({ email: hers }, 503)).toMatchObject({ failed: "unreachable" });
    expect(await finished({ email: hers }, 403)).toMatchObject({ failed: "refused" });
    expect(await finished({ email: hers }, { sub: "eve-1", email: hers, email_verified: true })).toMatchObject({
      failed: "refused",
    });
  });

  test("whose ID token is for another client, or was issued in the future, or whose answer has an empty issuer, is refused", async () => {
    const email = ada.email;
    expect(await finished({ email, azp: client_id })).toMatchObject({ subject: ada.sub });
    expect(await finished({ email, azp: "another" })).toMatchObject({
      failed: "refused",
      text: expect.stringContaining("another client"),
    });
    const iat = Math.floor(Date.now() / 1_000) + 600;
    expect(await finished({ email, iat, exp: iat + 600 })).toMatchObject({
      failed: "refused",
      text: expect.stringContaining("clock"),
    });
    expect(await finished({ email }, undefined, { callback: "&iss=" })).toMatchObject({
      failed: "refused",
      text: expect.stringContaining("issuer"),
    });
  });

  test("whose clock is off by some minutes is accepted; beyond that, the fault names the clock", async () => {
    const finishedAt = (off_seconds: number) => {
      const iat = Math.floor(Date.now() / 1_000) + off_seconds;
      return finished({ email: ada.email, iat, nbf: iat, exp: iat + 1 });
    };
    for (const off_seconds of [-200, 200])
      expect(await finishedAt(off_seconds), String(off_seconds)).toMatchObject({ subject: ada.sub });
    for (const off_seconds of [-600, 600])
      expect(await finishedAt(off_seconds), String(off_seconds)).toEqual({
        failed: "refused",
        text: "By this service's clock, the provider's answer is too old or not valid yet.",
      });
  });

  test.each([429, 500, 503])(
    "whose token endpoint answers %i is out of order, so no login counts as refused",
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
