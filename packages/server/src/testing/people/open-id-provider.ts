import { generateKeyPairSync } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";
import { whenFileIsDone } from "../when-file-is-done.ts";

export interface ProviderAccount {
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly name?: string;
  readonly amr?: readonly string[];
}

export const client_id = "countersign";
export const client_secret = "a-client-secret:%&+/=";

/** Redirects must begin with `redirect_uri`. Ends with the file's tests. */
export async function openIdProvider(redirect_uri: string, id_token_claims = false) {
  const accounts = new Map<string, ProviderAccount>();
  let next = "";
  const requests: string[] = [];
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const provider = new Provider(issuer, {
    clients: [{ client_id, client_secret, redirect_uris: [redirect_uri], grant_types: ["authorization_code"] }],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "amr"] },
    conformIdTokenClaims: !id_token_claims,
    cookies: { keys: ["test"] },
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), use: "sig", alg: "RS256" } as never] },
    features: { devInteractions: { enabled: false } },
    ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    findAccount: (_, id) => ({ accountId: id, claims: async () => ({ ...accounts.get(id), sub: id }) }),
  });

  // Each organization has its own redirect address.
  provider.Client.prototype.redirectUriAllowed = (uri) => uri.startsWith(redirect_uri);

  async function interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { prompt, params, session } = await provider.interactionDetails(request, response);
    if (prompt.name === "login") {
      await provider.interactionFinished(request, response, { login: { accountId: next } });
      return;
    }
    const grant = new provider.Grant({
      accountId: session?.accountId as string,
      clientId: params["client_id"] as string,
    });
    grant.addOIDCScope("openid email profile");
    await provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
  }

  const handle = provider.callback();
  const before = new Map<string, () => Promise<unknown>>();
  server.on("request", async (request, response) => {
    const what = `${request.method} ${request.url?.split("?", 1)[0]}`;
    requests.push(what);
    const first = before.get(what);
    before.delete(what);
    await first?.();
    if (request.url?.startsWith("/interaction/")) interact(request, response).catch(() => response.destroy());
    else void handle(request, response);
  });
  whenFileIsDone(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  });

  return {
    issuer,
    /** `METHOD /path` of every request. */
    requests,
    /** Does work before the next answer to `METHOD /path`. */
    onNext<T>(what: string, work: () => Promise<T>): Promise<T> {
      return new Promise((resolve, reject) => {
        before.set(what, () => work().then(resolve, reject));
      });
    },
    /** Uses a fresh browser. Returns the redirect address. */
    async signIn(location: string, account: ProviderAccount): Promise<URL> {
      accounts.set(account.sub, account);
      next = account.sub;
      const cookies = new Map<string, string>();
      let at = new URL(location);
      for (let hops = 0; at.origin === issuer; hops++) {
        if (hops > 10) throw new Error(`the provider sends in circles: ${at.pathname}`);
        const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
        const response = await fetch(at, { redirect: "manual", headers: { cookie } });
        for (const line of response.headers.getSetCookie()) {
          const [pair = ""] = line.split(";", 1);
          const [name = "", value = ""] = pair.split(/=(.*)/s, 2);
          if (value === "") cookies.delete(name);
          else cookies.set(name, value);
        }
        const to = response.headers.get("location");
        if (to === null) throw new Error(`${at.pathname}: ${response.status} ${await response.text()}`);
        at = new URL(to, at);
      }
      return at;
    },
  };
}
