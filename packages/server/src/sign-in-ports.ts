/** The origin that browsers see, and its host name. */
export interface PasskeySite {
  readonly origin: string;
  readonly host: string;
}

export interface KnownPasskey {
  /** Base64url. */
  readonly passkey_id: string;
  /** COSE. */
  readonly public_key: Buffer;
  /** 0: the authenticator does not count. */
  readonly counter: number;
  /** For example `internal`, `usb`. */
  readonly transports: readonly string[];
}

/** WebAuthn. Challenges are texts or bytes. Credentials come from browsers and may be anything. */
export interface PasskeyChecks {
  /** For `navigator.credentials.create`. `known` passkeys are not registered twice. */
  registrationOptions(
    site: PasskeySite,
    person: { readonly user_id: string; readonly email: string },
    challenge: string,
    known: readonly Pick<KnownPasskey, "passkey_id" | "transports">[],
  ): Promise<Record<string, unknown>>;
  /** Null: the credential does not answer the challenge with a verified user. */
  registered(site: PasskeySite, challenge: string, credential: unknown): Promise<KnownPasskey | null>;
  /** For `navigator.credentials.get`. `known`: only these passkeys can answer; empty: any. */
  loginOptions(
    site: PasskeySite,
    challenge: string | Buffer,
    known?: readonly Pick<KnownPasskey, "passkey_id" | "transports">[],
  ): Promise<Record<string, unknown>>;
  /** Returns the new count of uses. Null: as for `registered`. */
  usedBy(
    site: PasskeySite,
    challenge: string | Buffer,
    credential: unknown,
    known: KnownPasskey,
  ): Promise<number | null>;
}

export interface OpenIdProvider {
  readonly issuer: string;
  readonly client_id: string;
  readonly client_secret: string;
}

export interface OpenIdLogin {
  readonly state: string;
  readonly nonce: string;
  /** PKCE. */
  readonly code_verifier: string;
}

/** A person for whom a provider vouches. */
export interface OpenIdPerson {
  readonly subject: string;
  /** Null: the provider sent no address. */
  readonly email: string | null;
  readonly email_verified: boolean;
  /** Null: the provider sent no name. */
  readonly name: string | null;
  /** The provider says that the person used more than one factor (`amr` has `mfa`, RFC 8176). */
  readonly multi_factor: boolean;
}

/** `text` is a sentence for people. */
export interface OpenIdFailure {
  readonly failed: "unreachable" | "refused";
  readonly text: string;
}

/** OpenID Connect: code flow with PKCE, state and nonce, through the guarded client. Never rejects. */
export interface OpenId {
  /** Returns the address for the browser. */
  begin(
    provider: OpenIdProvider,
    login: OpenIdLogin,
    redirect_uri: string,
    login_hint: string | null,
  ): Promise<{ readonly location: string } | OpenIdFailure>;
  /** `callback`: the whole redirect address. */
  finish(provider: OpenIdProvider, login: OpenIdLogin, callback: string): Promise<OpenIdPerson | OpenIdFailure>;
}
