/**
 * OpenID Connect by openid-client, loaded when somebody first signs in with it. Everything that it asks of a provider goes
 * through the guarded client: issuers are addresses that somebody else named, and so is all that their metadata names.
 */
import { limits } from "@countersign/contract";
import type { Configuration, CustomFetch, ServerMetadata } from "openid-client";
import type { HttpOut } from "../../ports.ts";
import type { OpenId, OpenIdFailure, OpenIdLogin, OpenIdProvider } from "../../sign-in-ports.ts";

const library = () => import("openid-client");

/** What a provider may take for one answer: metadata, keys, tokens. */
const answer_within_ms = 5_000;
const answer_bytes_max = 1_048_576;
/** How far a provider's clock may be off. What it answers is fresh whatever its clock says: it was asked with our nonce just now. */
const clock_off_seconds_max = 300;

/** The guard's own word for why a provider was not asked or did not answer, or that it is out of order. */
class NotAsked extends Error {}

/** The logins of one process. */
export function createOpenId(httpOut: HttpOut): OpenId {
  const guarded: CustomFetch = async (url, { method, headers, body }) => {
    if (method !== "GET" && method !== "POST") throw new NotAsked(`No ${method} is sent to providers.`);
    if (body != null && typeof body !== "string" && !(body instanceof URLSearchParams))
      throw new Error("a provider is sent forms only");
    const terms = { timeout_ms: answer_within_ms, answer_bytes_max, method } as const;
    const answer = await httpOut.ask(url, headers, String(body ?? ""), terms);
    if ("failed" in answer) throw new NotAsked(answer.text);
    // Nobody's login is at fault.
    if (answer.status >= 500 || answer.status === 429) throw new NotAsked(`Its status was ${answer.status}.`);
    const type = answer.content_type == null ? {} : { "content-type": answer.content_type };
    const bodyless = answer.status === 204 || answer.status === 205 || answer.status === 304;
    return new Response(bodyless ? null : new Uint8Array(answer.body), { status: answer.status, headers: type });
  };

  async function discover({ issuer, client_id, client_secret }: OpenIdProvider): Promise<ServerMetadata> {
    const client = await library();
    // Whether http is allowed at all is the guard's decision.
    const insecure = issuer.startsWith("http:") ? [client.allowInsecureRequests] : [];
    const options = { execute: insecure, [client.customFetch]: guarded };
    const found = await client.discovery(new URL(issuer), client_id, client_secret, undefined, options);
    return found.serverMetadata();
  }

  async function configure(
    { issuer, client_id, client_secret }: OpenIdProvider,
    metadata: ServerMetadata,
    secret_in: "header" | "form",
  ): Promise<Configuration> {
    const client = await library();
    const authentication = (secret_in === "header" ? client.ClientSecretBasic : client.ClientSecretPost)(client_secret);
    const terms = { client_secret, [client.clockTolerance]: clock_off_seconds_max };
    const configuration = new client.Configuration(metadata, client_id, terms, authentication);
    configuration[client.customFetch] = guarded;
    if (issuer.startsWith("http:")) client.allowInsecureRequests(configuration);
    // Signatures are checked although TLS vouches for them.
    client.enableNonRepudiationChecks(configuration);
    return configuration;
  }

  /** The tokens for a login's code. A provider takes the client's secret in two ways, and of a client often one of them only. */
  async function redeem(provider: OpenIdProvider, { state, nonce, code_verifier }: OpenIdLogin, callback: string) {
    const { authorizationCodeGrant } = await library();
    const metadata = await discover(provider);
    const methods = metadata.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    const ways = (["header", "form"] as const).filter((way) =>
      methods.includes(way === "header" ? "client_secret_basic" : "client_secret_post"),
    );
    const [first = "form", second] = ways;
    const redeemBy = async (way: "header" | "form") => {
      const configuration = await configure(provider, metadata, way);
      const tokens = await authorizationCodeGrant(configuration, new URL(callback), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: code_verifier,
        idTokenExpected: true,
      });
      return { configuration, tokens };
    };
    try {
      return await redeemBy(first);
    } catch (error) {
      // Whoever is not known to it by its secret has not used the code up.
      if (second === undefined || !(error instanceof Error && "error" in error && error.error === "invalid_client"))
        throw error;
      return redeemBy(second);
    }
  }

  return {
    async begin(provider, { state, nonce, code_verifier }, redirect_uri, login_hint) {
      try {
        const configuration = await configure(provider, await discover(provider), "header");
        const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await library();
        const url = buildAuthorizationUrl(configuration, {
          redirect_uri,
          scope: "openid email",
          state,
          nonce,
          code_challenge: await calculatePKCECodeChallenge(code_verifier),
          code_challenge_method: "S256",
          ...(login_hint === null ? {} : { login_hint }),
        });
        if (url.protocol !== "https:" && !provider.issuer.startsWith("http:"))
          return refused("The provider's authorization endpoint is no https address.");
        if (url.href.length > limits.sso_location_chars_max)
          return refused("The provider's authorization endpoint is too long.");
        return { location: url.href };
      } catch (error) {
        return failureOf(error);
      }
    },

    async finish(provider, login, callback) {
      try {
        const { configuration, tokens } = await redeem(provider, login, callback);
        const { fetchUserInfo } = await library();
        const claims = tokens.claims();
        if (claims === undefined) return refused("The provider gave no ID token.");
        // Many providers tell the address, or whether they have verified it, only to who asks with the access token.
        const whole = claims["email"] !== undefined && claims["email_verified"] !== undefined;
        const more: Readonly<Record<string, unknown>> =
          whole || configuration.serverMetadata().userinfo_endpoint === undefined
            ? {}
            : await fetchUserInfo(configuration, tokens.access_token, claims.sub);
        // Both from one answer: what is verified is the address beside it.
        const about = "email" in more ? more : claims;
        const email = about["email"];
        return {
          subject: claims.sub,
          email: typeof email === "string" ? email : null,
          email_verified: about["email_verified"] === true,
        };
      } catch (error) {
        return failureOf(error);
      }
    },
  };
}

/** A sentence without anything that the provider said but its error code. */
function failureOf(error: unknown): OpenIdFailure {
  // The library's own word for what is wrong: its outermost error has it.
  let wrong: string | undefined;
  for (let each: unknown = error; each instanceof Error; each = each.cause) {
    if (each instanceof NotAsked)
      return { failed: "unreachable", text: `The provider gave no answer: ${each.message}` };
    const { error: said, code, cause } = each as Error & { readonly error?: unknown; readonly code?: unknown };
    if (typeof cause === "object" && cause !== null && "attribute" in cause && cause.attribute === "issuer")
      return refused(
        "The provider's metadata name another issuer. Enter it exactly as they do, a slash at its end included.",
      );
    if (typeof said === "string") return { failed: "refused", text: `The provider answered ${printable(said)}.` };
    if (typeof code === "string") wrong ??= code;
  }
  if (wrong === "OAUTH_JWT_TIMESTAMP_CHECK_FAILED")
    return refused("By this service's clock, what the provider answered is too old or not valid yet.");
  return refused(`What the provider answered does not hold${wrong === undefined ? "" : ` (${printable(wrong)})`}.`);
}

const refused = (text: string): OpenIdFailure => ({ failed: "refused", text });
const printable = (text: string) => text.replaceAll(/[^\w.-]/g, "?").slice(0, 100);
