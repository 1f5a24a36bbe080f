/** Returns the token of an Authorization header; undefined: another scheme, or none. */
export function bearerToken(header: string | undefined): string | undefined {
  return /^bearer +(.*)$/is.exec(header ?? "")?.[1];
}

/** Returns the WWW-Authenticate header of a 401 (RFC 6750). `is_invalid`: a token was given. */
export function bearerChallenge(is_invalid: boolean): string {
  return `Bearer realm="countersign"${is_invalid ? ', error="invalid_token"' : ""}`;
}
