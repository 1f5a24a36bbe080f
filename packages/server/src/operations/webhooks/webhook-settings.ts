import { secret_mask, type Webhook, type WebhookChange, type WebhookInput } from "@countersign/contract";
import { faultAt, readWebhookHeaders } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { readExistingMembranes } from "../../store/membranes/membranes.ts";

type Headers = Readonly<Record<string, string>>;

/** Returns the headers with names in lower case. `stored` opens the earlier ones. Faults: invalid_request. */
export function acceptedHeaders(given: Headers, stored: () => Headers = () => ({})): Headers {
  const known = Object.values(given).includes(secret_mask) ? stored() : {};
  const read = readWebhookHeaders(given, known);
  if ("headers" in read) return read.headers;
  const { name, message } = read.problem;
  throw faultAt(
    "invalid_request",
    `/headers/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`,
    "not_allowed",
    message,
  );
}

export function maskedHeaders(headers: Headers): Record<string, string> {
  return Object.fromEntries(
    Object.keys(headers)
      .sort()
      .map((name) => [name, secret_mask]),
  );
}

/** Returns a new webhook's settings with the defaults of the contract. */
export function settingsIn(
  input: WebhookInput,
  headers: Headers,
): Pick<
  Webhook,
  | "modes"
  | "membrane_ids"
  | "headers"
  | "alert_after_failures"
  | "pause_after_failures"
  | "paused_at"
  | "secret_overlap_ends_at"
> {
  const { modes = null, membrane_ids = null, alert_after_failures = null, pause_after_failures = null } = input;
  const filters = { modes, membrane_ids, headers: maskedHeaders(headers) };
  return { ...filters, alert_after_failures, pause_after_failures, paused_at: null, secret_overlap_ends_at: null };
}

/** Returns the given settings for the audit trail: of headers only the names. */
export function auditedSettings(input: WebhookInput | WebhookChange): Record<string, unknown> {
  const { modes, membrane_ids, alert_after_failures, pause_after_failures, headers } = input;
  const names = headers && Object.keys(maskedHeaders(headers)).map((name) => name.toLowerCase());
  const settings = { modes, membrane_ids, alert_after_failures, pause_after_failures, headers: names };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

/** Faults: not_found. */
export async function refuseUnknownMembranes(
  query: Query,
  org_id: string,
  membrane_ids: readonly string[] | null | undefined,
): Promise<void> {
  if (membrane_ids == null) return;
  const existing = await readExistingMembranes(query, org_id, membrane_ids);
  const unknown = membrane_ids.findIndex((each) => !existing.includes(each));
  if (unknown >= 0) throw faultAt("not_found", `/membrane_ids/${unknown}`, "not_found", "There is no such membrane.");
}
