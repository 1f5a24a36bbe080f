/** The origin that browsers see, and its host name. */
export interface PasskeySite {
  readonly origin: string;
  readonly host: string;
}

/** The parts of a passkey that its checks need. */
export interface KnownPasskey {
  /** Base64url. */
  readonly passkey_id: string;
  /** COSE. */
  readonly public_key: Buffer;
  /** The authenticator's count of uses. 0: it does not count. */
  readonly counter: number;
  /** How browsers may reach it, e.g. `internal`, `usb`. */
  readonly transports: readonly string[];
}

/** WebAuthn. Challenges are texts. Credentials come from browsers and may be anything. */
export interface PasskeyChecks {
  /** Returns options for `navigator.credentials.create` in JSON form. `known` passkeys are not registered twice. */
  registrationOptions(
    site: PasskeySite,
    person: { readonly user_id: string; readonly email: string },
    challenge: string,
    known: readonly Pick<KnownPasskey, "passkey_id" | "transports">[],
  ): Promise<Record<string, unknown>>;
  /** Returns the passkey that answers the challenge with a verified user. Null: the credential does not. */
  registered(site: PasskeySite, challenge: string, credential: unknown): Promise<KnownPasskey | null>;
  /** Returns options for `navigator.credentials.get` in JSON form. */
  loginOptions(site: PasskeySite, challenge: string): Promise<Record<string, unknown>>;
  /** Returns the new count of uses. Null: the passkey does not answer the challenge with a verified user. */
  usedBy(site: PasskeySite, challenge: string, credential: unknown, known: KnownPasskey): Promise<number | null>;
}

/** An OpenID provider and this service's account there. */
export interface OpenIdProvider {
  readonly issuer: string;
  readonly client_id: string;
  readonly client_secret: string;
}

/** The secrets that finish a login. */
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
}

/** The provider is unreachable, or its answer is invalid. `text` is a sentence for people. */
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
  /** Redeems the code of `callback`, the whole redirect address, and checks the result. */
  finish(provider: OpenIdProvider, login: OpenIdLogin, callback: string): Promise<OpenIdPerson | OpenIdFailure>;
}
