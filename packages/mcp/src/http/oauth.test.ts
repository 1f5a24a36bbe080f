/** Sign-in with OAuth through `--listen`: the protocol's own client, a real authorization server, and a server that checks tokens. */
import { Client as LaterClient, StreamableHTTPClientTransport as LaterTransport } from "@modelcontextprotocol/client";
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, onTestFinished, test } from "vitest";
import { authorizationServer } from "../testing/authorization-server.ts";
import { proxied, serving, sessionBank, statelessBank } from "../testing/http-ends.ts";

/** A bank that takes only tokens for one of these resources. `seen` gets the valid credentials of each request. */
async function guardedBank(revision: string, resources: Set<string>) {
  const authorization = await authorizationServer(resources);
  const bank = await (revision === "2026-07-28" ? statelessBank() : sessionBank([], { json: true }));
  const seen: string[] = [];
  let origin = "";
  origin = await serving(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { host: _, connection: __, "content-length": ___, ...headers } = request.headers;
    if (request.url?.startsWith("/.well-known/oauth-protected-resource")) {
      const about = {
        resource: `${origin}/mcp`,
        authorization_servers: [authorization.issuer],
        scopes_supported: ["pay"],
      };
      return response.setHeader("content-type", "application/json").end(JSON.stringify(about));
    }
    const resource = await authorization.resourceOf(headers.authorization);
    if (resource === null || !resources.has(resource)) {
      const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
      return response.writeHead(401, { "www-authenticate": `Bearer resource_metadata="${metadata}"` }).end();
    }
    seen.push(headers.authorization ?? "");
    const body = chunks.length === 0 ? {} : { body: Buffer.concat(chunks) };
    const sent = { method: request.method ?? "", headers: headers as Record<string, string>, ...body };
    const answer = await fetch(bank.url, sent);
    return response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  });
  return { url: `${origin}/mcp`, payments: bank.payments, authorization, seen };
}

/** Returns a client's memory, and the addresses that it wants its user to open. */
function signingIn() {
  const kept: Record<string, unknown> = {};
  const opened: URL[] = [];
  const redirectUrl = "http://127.0.0.1:9/callback";
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: { client_name: "desk", redirect_uris: [redirectUrl], token_endpoint_auth_method: "none" },
    clientInformation: () => kept["client"] as ReturnType<OAuthClientProvider["clientInformation"]>,
    saveClientInformation: (client) => void Object.assign(kept, { client }),
    tokens: () => kept["tokens"] as ReturnType<OAuthClientProvider["tokens"]>,
    saveTokens: (tokens) => void Object.assign(kept, { tokens }),
    redirectToAuthorization: (url) => void opened.push(url),
    saveCodeVerifier: (verifier) => void Object.assign(kept, { verifier }),
    codeVerifier: () => kept["verifier"] as string,
  };
  return { provider, opened };
}

function clientOf(revision: string, url: string, authProvider: OAuthClientProvider) {
  if (revision === "2026-07-28") {
    const transport = () => new LaterTransport(new URL(url), { authProvider: authProvider as never });
    const client = new LaterClient({ name: "desk", version: "1" }, { versionNegotiation: { mode: { pin: revision } } });
    return { transport, client };
  }
  const transport = () => new StreamableHTTPClientTransport(new URL(url), { authProvider });
  return { transport, client: new Client({ name: "desk", version: "1" }) };
}

test.each(["2025-11-25", "2026-07-28"])(
  "a client of %s signs in for the proxy's address, makes a decided call, and renews its token",
  async (revision) => {
    const resources = new Set<string>();
    const bank = await guardedBank(revision, resources);
    const { url, submitted } = await proxied(bank.url);
    resources.add(url);
    const { provider, opened } = signingIn();
    const { client, transport } = clientOf(revision, url, provider);
    onTestFinished(() => client.close());
    const connect = (through: object) => client.connect(through as Parameters<typeof client.connect>[0]);
    const first = transport();
    await expect(connect(first)).rejects.toThrow("Unauthorized");
    expect(opened[0]?.origin).toBe(bank.authorization.issuer);
    expect(opened[0]?.searchParams.get("resource")).toBe(url);
    const back = await bank.authorization.signIn(opened[0] as URL);
    const { code = "", iss } = Object.fromEntries(back.searchParams);
    await first.finishAuth(code, iss);
    await connect(transport());
    const pay = () => client.callTool({ name: "pay", arguments: { n: 1 } });
    expect(JSON.stringify(await pay())).toContain("paid 1");
    const [token = ""] = bank.seen.slice(-1);
    await bank.authorization.revoke(token);
    expect(JSON.stringify(await pay())).toContain("paid 1");
    expect(bank.seen.at(-1)).not.toBe(token);
    expect(await bank.authorization.resourceOf(bank.seen.at(-1))).toBe(url);
    // The call with the old token was decided and not made. The client repeated it.
    expect([bank.payments.length, submitted.length, opened.length]).toEqual([2, 3, 1]);
  },
);
