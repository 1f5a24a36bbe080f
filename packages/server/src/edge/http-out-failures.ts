/** Why an attempt got no answer, as a sentence for the person who runs the receiver. */

const texts: Readonly<Record<string, string>> = {
  ENOTFOUND: "The receiver's name does not resolve.",
  ENODATA: "The receiver's name has no address.",
  EAI_AGAIN: "The name server did not answer.",
  ESERVFAIL: "The name server could not resolve the receiver's name.",
  EREFUSED: "The name server refused to resolve the receiver's name.",
  ECONNREFUSED: "The receiver refused the connection.",
  EHOSTUNREACH: "There is no route to the receiver.",
  ENETUNREACH: "There is no route to the receiver.",
  ECONNRESET: "The receiver closed the connection before it answered.",
  EPIPE: "The receiver closed the connection before it answered.",
  UND_ERR_SOCKET: "The receiver closed the connection before it answered.",
  UND_ERR_HEADERS_OVERFLOW: "The head of the receiver's answer is too large.",
  HPE_HEADER_OVERFLOW: "The head of the receiver's answer is too large.",
  CERT_HAS_EXPIRED: "The receiver's certificate has expired.",
  CERT_NOT_YET_VALID: "The receiver's certificate is not valid yet.",
  CERT_REVOKED: "The receiver's certificate is revoked.",
  ERR_TLS_CERT_ALTNAME_INVALID: "The receiver's certificate is for another name.",
  DEPTH_ZERO_SELF_SIGNED_CERT: "The receiver's certificate is self-signed.",
  SELF_SIGNED_CERT_IN_CHAIN: "The receiver's certificate comes from an authority that is not trusted.",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "The receiver does not send the certificates between its own and a trusted authority.",
  UNABLE_TO_GET_ISSUER_CERT: "The receiver's certificate comes from an authority that is not trusted.",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "The receiver's certificate comes from an authority that is not trusted.",
};

/** The sentence for an error of the resolver, the socket, TLS or the HTTP parser. At most 500 characters. */
export function failureText(error: unknown, timeout_ms: number): string {
  for (const each of causes(error)) {
    const { name, code, message } = each as { name?: string; code?: unknown; message?: string };
    if (name === "TimeoutError" || code === "UND_ERR_CONNECT_TIMEOUT" || code === "ETIMEDOUT" || code === "ETIMEOUT") {
      return `The receiver did not answer within ${timeout_ms / 1_000} seconds.`;
    }
    // undici's words for a switch of protocols that nobody asked for, and for 100 in place of an answer.
    if (message === "bad upgrade") return "The receiver answered 101, a switch of protocols that was not asked for.";
    if (message === "bad response") return "The receiver answered 100 and nothing after it.";
    const known = typeof code === "string" ? texts[code] : undefined;
    if (known !== undefined) return known;
    if (name === "HTTPParserError") return "The receiver's answer is not HTTP/1.1.";
    if (typeof code !== "string") continue;
    if (code === "EPROTO" || code.startsWith("ERR_SSL_")) return "The receiver does not speak TLS on this port.";
    return `The connection to the receiver failed (${code.slice(0, 100)}).`;
  }
  return "The connection to the receiver failed.";
}

/** The error, what caused it, and what several tries came to, from the outside in. */
function* causes(error: unknown): Generator<object> {
  if (typeof error !== "object" || error === null) return;
  yield error;
  if (error instanceof AggregateError) yield* causes(error.errors[0]);
  if ("cause" in error) yield* causes(error.cause);
}
