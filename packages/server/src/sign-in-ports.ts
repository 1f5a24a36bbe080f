/** Types only: the libraries by which people sign in without a password of ours. The edge implements them. */

/** Where passkeys belong to: the origin that browsers see, and the host name in it. */
export interface PasskeySite {
  readonly origin: string;
  readonly host: string;
}

/** A passkey as far as its checks need it. */
export interface KnownPasskey {
  /** The credential's id, base64url. */
  readonly passkey_id: string;
  /** COSE. */
  readonly public_key: Buffer;
  /** Uses so far, as the authenticator counts them; 0 where it does not. */
  readonly counter: number;
  /** How browsers may reach it, e.g. `internal`, `usb`. */
  readonly transports: readonly string[];
}

/** WebAuthn. Challenges are texts; credentials are what browsers give, which may be anything. */
export interface PasskeyChecks {
  /** Options for `navigator.credentials.create`, in their JSON form. `known` are not registered twice. */
  registrationOptions(
    site: PasskeySite,
    person: { readonly user_id: string; readonly email: string },
    challenge: string,
    known: readonly Pick<KnownPasskey, "passkey_id" | "transports">[],
  ): Promise<Record<string, unknown>>;
  /** The passkey that answers the challenge, its user verified; null: it does not. */
  registered(site: PasskeySite, challenge: string, credential: unknown): Promise<KnownPasskey | null>;
  /** Options for `navigator.credentials.get`, in their JSON form; the browser offers what it has. */
  loginOptions(site: PasskeySite, challenge: string): Promise<Record<string, unknown>>;
  /** The new count of uses where the passkey answers the challenge, its user verified; null: it does not. */
  usedBy(site: PasskeySite, challenge: string, credential: unknown, known: KnownPasskey): Promise<number | null>;
}

/** An OpenID provider and this service's account there. */
export interface OpenIdProvider {
  readonly issuer: string;
  readonly client_id: string;
  readonly client_secret: string;
}

/** What one login has to be finished with. All of it is secret until then. */
export interface OpenIdLogin {
  readonly state: string;
  readonly nonce: string;
  /** PKCE. */
  readonly code_verifier: string;
}

/** Whom a provider vouches for. */
export interface OpenIdPerson {
  readonly subject: string;
  /** Null: the provider told none. */
  readonly email: string | null;
  readonly email_verified: boolean;
}

/** Why a provider was of no use: it could not be reached, or what it said does not hold. `text` is a sentence for people. */
export interface OpenIdFailure {
  readonly failed: "unreachable" | "refused";
  readonly text: string;
}

/** OpenID Connect: code flow with PKCE, state and nonce, through the guarded client. Never rejects. */
export interface OpenId {
  /** Reads the provider's metadata and gives the address that the browser is to go to. */
  begin(
    provider: OpenIdProvider,
    login: OpenIdLogin,
    redirect_uri: string,
    login_hint: string | null,
  ): Promise<{ readonly location: string } | OpenIdFailure>;
  /** Redeems the code with which the browser came back (`callback` is the whole address) and checks what it gives. */
  finish(provider: OpenIdProvider, login: OpenIdLogin, callback: string): Promise<OpenIdPerson | OpenIdFailure>;
}
