/** An authorization server whose only user signs in and consents at once. Clients register themselves. */
import { generateKeyPairSync } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";
import { onTestFinished } from "vitest";

/** Gives tokens for these resources only, until the test ends. */
export async function authorizationServer(resources: ReadonlySet<string>) {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const provider = new Provider(issuer, {
    cookies: { keys: ["test"] },
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), use: "sig", alg: "RS256" } as never] },
    scopes: ["openid", "pay"],
    clientAuthMethods: ["none"],
    clientDefaults: { token_endpoint_auth_method: "none", grant_types: ["authorization_code", "refresh_token"] },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => {
          if (!resources.has(resource)) throw new Error(`an unknown resource: ${resource}`);
          return { scope: "pay", audience: resource, accessTokenFormat: "opaque" };
        },
      },
    },
    issueRefreshToken: () => true,
    ttl: {
      AccessToken: 600,
      AuthorizationCode: 60,
      Grant: 600,
      IdToken: 600,
      Interaction: 600,
      RefreshToken: 600,
      Session: 600,
    },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    findAccount: (_, accountId) => ({ accountId, claims: async () => ({ sub: accountId }) }),
  });

  async function interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { prompt, params, session } = await provider.interactionDetails(request, response);
    if (prompt.name === "login")
      return provider.interactionFinished(request, response, { login: { accountId: "ann" } });
    const accountId = session?.accountId ?? "";
    const grant = new provider.Grant({ accountId, clientId: String(params["client_id"]) });
    grant.addOIDCScope("openid pay");
    for (const resource of resources) grant.addResourceScope(resource, "pay");
    return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
  }

  const handle = provider.callback();
  server.on("request", (request, response) => {
    if (request.url?.startsWith("/interaction/")) interact(request, response).catch(() => response.destroy());
    else void handle(request, response);
  });

  return {
    issuer,
    /** Returns the resource that the token is for; null: the token is not valid. */
    async resourceOf(authorization: string | undefined): Promise<string | null> {
      const token = await provider.AccessToken.find((authorization ?? "").replace(/^Bearer /, ""));
      return token?.isValid ? String(token.aud) : null;
    },
    /** Ends a token before its time. */
    async revoke(authorization: string): Promise<void> {
      await (await provider.AccessToken.find(authorization.replace(/^Bearer /, "")))?.destroy();
    },
    /** Follows the redirects as a browser does. Returns the address that the client gets its code at. */
    async signIn(location: URL): Promise<URL> {
      const cookies = new Map<string, string>();
      let at = location;
      for (let hops = 0; at.origin === issuer; hops += 1) {
        if (hops > 10) throw new Error(`the server sends in circles: ${at.href}`);
        const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
        const response = await fetch(at, { redirect: "manual", headers: { cookie } });
        for (const line of response.headers.getSetCookie()) {
          const [, name = "", value = ""] = /^([^=]*)=([^;]*)/.exec(line) ?? [];
          cookies.set(name, value);
        }
        const to = response.headers.get("location");
        if (to === null) throw new Error(`${at.pathname}: ${response.status} ${await response.text()}`);
        at = new URL(to, at);
      }
      return at;
    },
  };
}
