import { type DeliveryFailure, type DeliveryFailureValues, deliveryFailureText } from "@countersign/core";

const failures: ReadonlyMap<unknown, DeliveryFailure> = new Map<unknown, DeliveryFailure>(
  Object.entries({
    ENOTFOUND: "name_unknown",
    ENODATA: "name_without_address",
    // c-ares: no name server answered, or none is configured.
    ETIMEOUT: "name_server_silent",
    EAI_AGAIN: "name_server_silent",
    ESERVFAIL: "name_server_failed",
    EFORMERR: "name_server_failed",
    EBADRESP: "name_server_failed",
    ENOTIMP: "name_server_failed",
    EREFUSED: "name_server_refused",
    ECONNREFUSED: "connection_refused",
    EHOSTUNREACH: "no_route",
    ENETUNREACH: "no_route",
    ECONNRESET: "connection_closed",
    EPIPE: "connection_closed",
    UND_ERR_SOCKET: "connection_closed",
    UND_ERR_CONNECT_TIMEOUT: "out_of_time",
    ETIMEDOUT: "out_of_time",
    UND_ERR_HEADERS_OVERFLOW: "head_too_large",
    HPE_HEADER_OVERFLOW: "head_too_large",
    UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "not_http",
    // undici's assertion that a status is at least 100.
    ERR_ASSERTION: "not_http",
    CERT_HAS_EXPIRED: "certificate_expired",
    CERT_NOT_YET_VALID: "certificate_not_yet_valid",
    ERR_TLS_CERT_ALTNAME_INVALID: "certificate_of_another_name",
    DEPTH_ZERO_SELF_SIGNED_CERT: "certificate_self_signed",
    SELF_SIGNED_CERT_IN_CHAIN: "certificate_of_unknown_authority",
    UNABLE_TO_GET_ISSUER_CERT: "certificate_of_unknown_authority",
    UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "certificate_of_unknown_authority",
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: "certificate_chain_incomplete",
  } as const),
);

/** A switch of protocols that was not requested. */
const failuresByMessage: ReadonlyMap<unknown, DeliveryFailure> = new Map<unknown, DeliveryFailure>([
  ["bad upgrade", "protocol_switched"],
]);

/** The parser's reason at the end of undici's message. */
const parserReason = /\(([ -~]{1,100})\)$/;

const causes_max = 8;

/** A reason that this service found itself. */
export class AttemptFailure extends Error {
  readonly failure: DeliveryFailure;

  constructor(failure: DeliveryFailure, values: DeliveryFailureValues = {}) {
    super(deliveryFailureText(failure, values));
    this.failure = failure;
  }
}

export function failureText(error: unknown, timeout_ms: number): string {
  if (error instanceof AttemptFailure) return error.message;
  const [failure, code] = failureOf(error);
  return deliveryFailureText(failure, { code, seconds: timeout_ms / 1_000 });
}

function failureOf(error: unknown): readonly [DeliveryFailure, code: string] {
  let first_code: string | undefined;
  for (const each of causes(error, causes_max)) {
    const { name, code, message } = each as { name?: unknown; code?: unknown; message?: unknown };
    if (name === "TimeoutError") return ["out_of_time", ""];
    const known = failuresByMessage.get(message) ?? failures.get(code);
    if (known !== undefined) return [known, String(code)];
    if (name === "HTTPParserError") return ["not_http", parserReason.exec(String(message))?.[1] ?? "no reason given"];
    if (typeof code !== "string" || !/^\w{1,100}$/.test(code)) continue;
    // An alert is the receiver's. Other errors of OpenSSL mean that the bytes are not TLS.
    if (/^ERR_SSL_.*(ALERT|UNSUPPORTED|NO_SHARED)/.test(code)) return ["tls_refused", code];
    if (code === "EPROTO" || code.startsWith("ERR_SSL_")) return ["no_tls", code];
    first_code ??= code;
  }
  return ["connection_failed", first_code ?? "unknown"];
}

/** Yields the error, its causes, and errors of several tries, from the outside in. */
function* causes(error: unknown, left: number): Generator<object> {
  if (typeof error !== "object" || error === null || left === 0) return;
  yield error;
  if (error instanceof AggregateError) yield* causes(error.errors[0], left - 1);
  if ("cause" in error) yield* causes(error.cause, left - 1);
}
