/** Each recorded reason is one of these. */

const texts = {
  // Before the request.
  refused: "{sentence}",
  secret_not_readable: "The webhook's secret was sealed with another master key than this service has.",
  interrupted: "The service stopped during this attempt; whether it arrived is not known.",
  // Name lookup.
  name_unknown: "The receiver's name does not resolve.",
  name_without_address: "The receiver's name has no address.",
  name_server_silent: "The name server did not answer.",
  name_server_failed: "The name server could not resolve the receiver's name.",
  name_server_refused: "The name server refused to resolve the receiver's name.",
  // Connection.
  connection_refused: "The receiver refused the connection.",
  no_route: "There is no route to the receiver.",
  connection_closed: "The receiver closed the connection before it answered.",
  connection_failed: "The connection to the receiver failed ({code}).",
  // TLS.
  no_tls: "The receiver does not speak TLS on this port.",
  tls_refused: "The receiver ended the TLS handshake ({code}).",
  certificate_expired: "The receiver's certificate has expired.",
  certificate_not_yet_valid: "The receiver's certificate is not valid yet.",
  certificate_of_another_name: "The receiver's certificate is for another name.",
  certificate_self_signed: "The receiver's certificate is self-signed.",
  certificate_of_unknown_authority: "The receiver's certificate comes from an authority that is not trusted.",
  certificate_chain_incomplete: "The receiver does not send the certificates between its own and a trusted authority.",
  // Answer.
  out_of_time: "The receiver did not answer within {seconds} seconds.",
  head_too_large: "The head of the receiver's answer is too large.",
  not_http: "The receiver's answer is not HTTP/1.1 ({code}).",
  protocol_switched: "The receiver answered 101, a switch of protocols that was not requested.",
  redirected: "The receiver answered {status}; redirects are not followed.",
  not_taken: "The receiver answered {status} instead of a 2xx status.",
} as const satisfies Readonly<Record<string, string>>;

/** The error of a delivery without attempts. No attempt has it. */
export const paused_delivery_text = "The webhook was paused, so the service sent nothing.";

export type DeliveryFailure = keyof typeof texts;

/** Words in braces are filled in. */
export const deliveryFailureTexts: Readonly<Record<DeliveryFailure, string>> = texts;

/** `code`: of the system, a library or the HTTP parser. */
export interface DeliveryFailureValues {
  readonly sentence?: string;
  readonly code?: string;
  readonly seconds?: number;
  readonly status?: number;
}

/** Throws if a required value is missing. */
export function deliveryFailureText(failure: DeliveryFailure, values: DeliveryFailureValues = {}): string {
  return texts[failure].replace(/\{(\w+)\}/g, (_all, name: keyof DeliveryFailureValues) => {
    const value = values[name];
    if (value === undefined) throw new Error(`the reason ${failure} needs its ${name}`);
    return String(value);
  });
}
