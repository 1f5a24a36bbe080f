/**
 * OpenID Connect by openid-client, loaded at the first login. All requests go through the guarded client, because
 * customers configure the issuers.
 */
import { limits } from "@countersign/contract";
import type { Configuration, CustomFetch, IDToken, ServerMetadata } from "openid-client";
import type { HttpOut } from "../../ports.ts";
import type { OpenId, OpenIdFailure, OpenIdLogin, OpenIdProvider } from "../../sign-in-ports.ts";

const library = () => import("openid-client");

const answer_within_ms = 5_000;
const answer_bytes_max = 1_048_576;
/** How far a provider's clock may be off. The nonce proves that an answer is fresh. */
const clock_off_seconds_max = 300;

const wrong_time = "By this service's clock, the provider's answer is too old or not valid yet.";

/** The provider was not asked, did not answer, or is out of order. */
class NotAsked extends Error {}

export function createOpenId(httpOut: HttpOut): OpenId {
  const guarded = guardedFetch(httpOut);
  return {
    async begin(provider, login, redirect_uri, login_hint) {
      try {
        return await begin(guarded, provider, login, redirect_uri, login_hint);
      } catch (error) {
        return failureOf(error);
      }
    },
    async finish(provider, login, callback) {
      try {
        return await finish(guarded, provider, login, callback);
      } catch (error) {
        return failureOf(error);
      }
    },
  };
}

function guardedFetch(httpOut: HttpOut): CustomFetch {
  return async (url, { method, headers, body }) => {
    if (method !== "GET" && method !== "POST") throw new NotAsked(`No ${method} is sent to providers.`);
    if (body != null && typeof body !== "string" && !(body instanceof URLSearchParams))
      throw new Error("a provider is sent forms only");
    const terms = { timeout_ms: answer_within_ms, answer_bytes_max, method } as const;
    const answer = await httpOut.ask(url, headers, String(body ?? ""), terms);
    if ("failed" in answer) throw new NotAsked(answer.text);
    // A status about the provider, so the login is not refused.
    if (answer.status >= 500 || answer.status === 429) throw new NotAsked(`Its status was ${answer.status}.`);
    const type = answer.content_type == null ? {} : { "content-type": answer.content_type };
    const bodyless = answer.status === 204 || answer.status === 205 || answer.status === 304;
    return new Response(bodyless ? null : new Uint8Array(answer.body), { status: answer.status, headers: type });
  };
}

async function begin(
  guarded: CustomFetch,
  ...[provider, { state, nonce, code_verifier }, redirect_uri, login_hint]: Parameters<OpenId["begin"]>
): ReturnType<OpenId["begin"]> {
  const configuration = await configure(guarded, provider, await discover(guarded, provider), "header");
  const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await library();
  const url = buildAuthorizationUrl(configuration, {
    redirect_uri,
    scope: "openid email profile",
    state,
    nonce,
    code_challenge: await calculatePKCECodeChallenge(code_verifier),
    code_challenge_method: "S256",
    ...(login_hint === null ? {} : { login_hint }),
  });
  if (url.protocol !== "https:" && !provider.issuer.startsWith("http:"))
    return refused("The provider's authorization endpoint is not an https address.");
  if (url.href.length > limits.sso_location_chars_max)
    return refused("The provider's authorization endpoint is too long.");
  return { location: url.href };
}

async function finish(
  guarded: CustomFetch,
  ...[provider, login, callback]: Parameters<OpenId["finish"]>
): ReturnType<OpenId["finish"]> {
  // The library treats an empty issuer (RFC 9207) as none.
  if (new URL(callback).searchParams.get("iss") === "") return refused("The provider's answer names no issuer.");
  const { configuration, tokens } = await redeem(guarded, provider, login, callback);
  const { fetchUserInfo } = await library();
  const claims = tokens.claims();
  if (claims === undefined) return refused("The provider gave no ID token.");
  const wrong = wrongClaim(claims, provider.client_id);
  if (wrong !== null) return refused(wrong);
  // Many providers send the address, or `email_verified`, only as user info.
  const whole = claims["email"] !== undefined && claims["email_verified"] !== undefined;
  const more: Readonly<Record<string, unknown>> =
    whole || configuration.serverMetadata().userinfo_endpoint === undefined
      ? {}
      : await fetchUserInfo(configuration, tokens.access_token, claims.sub);
  // Both from the same answer, because `email_verified` is about the address beside it.
  const about = "email" in more ? more : claims;
  const email = about["email"];
  // User info has no `amr`, because it is about this sign-in.
  const amr: unknown = claims["amr"];
  return {
    subject: claims.sub,
    email: typeof email === "string" ? email : null,
    email_verified: about["email_verified"] === true,
    name: [about["name"], claims["name"]].find((each) => typeof each === "string") ?? null,
    multi_factor: Array.isArray(amr) && amr.includes("mfa"),
  };
}

/** Finds errors that the library accepts (OpenID Connect Core, section 3.1.3.7). Null: none. */
function wrongClaim({ azp, iat }: IDToken, client_id: string): string | null {
  if (azp !== undefined && azp !== client_id) return "The provider issued the ID token for another client.";
  return iat > Date.now() / 1000 + clock_off_seconds_max ? wrong_time : null;
}

async function discover(
  guarded: CustomFetch,
  { issuer, client_id, client_secret }: OpenIdProvider,
): Promise<ServerMetadata> {
  const client = await library();
  // The guarded client decides whether http is allowed.
  const insecure = issuer.startsWith("http:") ? [client.allowInsecureRequests] : [];
  const options = { execute: insecure, [client.customFetch]: guarded };
  const found = await client.discovery(new URL(issuer), client_id, client_secret, undefined, options);
  return found.serverMetadata();
}

async function configure(
  guarded: CustomFetch,
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
  // Checks signatures in addition to TLS.
  client.enableNonRepudiationChecks(configuration);
  return configuration;
}

/**
 * A provider may accept only one of two ways to send the client's secret. The second is tried if the first gives
 * `invalid_client`.
 */
async function redeem(
  guarded: CustomFetch,
  provider: OpenIdProvider,
  { state, nonce, code_verifier }: OpenIdLogin,
  callback: string,
) {
  const { authorizationCodeGrant } = await library();
  const metadata = await discover(guarded, provider);
  const methods = metadata.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
  const ways = (["header", "form"] as const).filter((way) =>
    methods.includes(way === "header" ? "client_secret_basic" : "client_secret_post"),
  );
  const [first = "form", second] = ways;
  const redeemBy = async (way: "header" | "form") => {
    const configuration = await configure(guarded, provider, metadata, way);
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
    // A provider that does not know the client has not used the code.
    if (second === undefined || !(error instanceof Error && "error" in error && error.error === "invalid_client"))
      throw error;
    return redeemBy(second);
  }
}

/** Contains only the provider's error code. */
function failureOf(error: unknown): OpenIdFailure {
  // In the outermost error that has one.
  let wrong: string | undefined;
  for (let each: unknown = error; each instanceof Error; each = each.cause) {
    if (each instanceof NotAsked)
      return { failed: "unreachable", text: `The provider gave no answer: ${each.message}` };
    const {
      error: provider_error,
      code,
      cause,
    } = each as Error & { readonly error?: unknown; readonly code?: unknown };
    if (typeof cause === "object" && cause !== null && "attribute" in cause && cause.attribute === "issuer")
      return refused(
        "The provider's metadata names another issuer. Enter it exactly as in the metadata, including a slash at its end.",
      );
    if (typeof provider_error === "string")
      return { failed: "refused", text: `The provider answered ${printable(provider_error)}.` };
    if (typeof code === "string") wrong ??= code;
  }
  if (wrong === "OAUTH_JWT_TIMESTAMP_CHECK_FAILED") return refused(wrong_time);
  return refused(`The provider's answer is not valid${wrong === undefined ? "" : ` (${printable(wrong)})`}.`);
}

const refused = (text: string): OpenIdFailure => ({ failed: "refused", text });
const printable = (text: string) => text.replaceAll(/[^\w.-]/g, "?").slice(0, 100);
