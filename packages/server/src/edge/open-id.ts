/**
 * OpenID Connect by openid-client, loaded when somebody first signs in with it. Everything that it asks of a provider goes
 * through the guarded client: issuers are addresses that somebody else named, and so is all that their metadata names.
 */
import { limits } from "@countersign/contract";
import type { Configuration, CustomFetch } from "openid-client";
import type { HttpOut } from "../ports.ts";
import type { OpenId, OpenIdFailure, OpenIdProvider } from "../sign-in-ports.ts";

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

  async function configure({ issuer, client_id, client_secret }: OpenIdProvider): Promise<Configuration> {
    const client = await library();
    // Whether http is allowed at all is the guard's decision. Signatures are checked although TLS vouches for them.
    const insecure = issuer.startsWith("http:") ? [client.allowInsecureRequests] : [];
    const execute = [...insecure, client.enableNonRepudiationChecks];
    const options = { execute: insecure, [client.customFetch]: guarded };
    const found = await client.discovery(new URL(issuer), client_id, client_secret, undefined, options);
    const metadata = found.serverMetadata();
    const methods = metadata.token_endpoint_auth_methods_supported;
    const basic = methods === undefined || methods.includes("client_secret_basic");
    const authentication = (basic ? client.ClientSecretBasic : client.ClientSecretPost)(client_secret);
    const terms = { client_secret, [client.clockTolerance]: clock_off_seconds_max };
    const configuration = new client.Configuration(metadata, client_id, terms, authentication);
    configuration[client.customFetch] = guarded;
    for (const each of execute) each(configuration);
    return configuration;
  }

  return {
    async begin(provider, { state, nonce, code_verifier }, redirect_uri, login_hint) {
      try {
        const configuration = await configure(provider);
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

    async finish(provider, { state, nonce, code_verifier }, callback) {
      try {
        const configuration = await configure(provider);
        const { authorizationCodeGrant, fetchUserInfo } = await library();
        const tokens = await authorizationCodeGrant(configuration, new URL(callback), {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: code_verifier,
          idTokenExpected: true,
        });
        const claims = tokens.claims();
        if (claims === undefined) return refused("The provider gave no ID token.");
        // Many providers tell the address only to who asks with the access token.
        const about =
          claims["email"] === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined
            ? await fetchUserInfo(configuration, tokens.access_token, claims.sub)
            : claims;
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
    const { error: said, code } = each as { readonly error?: unknown; readonly code?: unknown };
    if (typeof said === "string") return { failed: "refused", text: `The provider answered ${printable(said)}.` };
    if (typeof code === "string") wrong ??= code;
  }
  if (wrong === "OAUTH_JWT_TIMESTAMP_CHECK_FAILED")
    return refused("By this service's clock, what the provider answered is too old or not valid yet.");
  return refused(`What the provider answered does not hold${wrong === undefined ? "" : ` (${printable(wrong)})`}.`);
}

const refused = (text: string): OpenIdFailure => ({ failed: "refused", text });
const printable = (text: string) => text.replaceAll(/[^\w.-]/g, "?").slice(0, 100);
