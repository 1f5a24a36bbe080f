/** SQL for texts sealed with a master key (decision 0019). */
import type { Query } from "../../ports.ts";
import { byOrganization } from "../rows/by-organization.ts";

interface Place {
  readonly table: string;
  readonly key: readonly string[];
  readonly column: string;
  /** Null: the whole column is sealed. */
  readonly member: string | null;
}

const places = {
  webhooks: { table: "webhooks", key: ["org_id", "webhook_id"], column: "secret_sealed", member: null },
  next_webhook_secrets: {
    table: "webhooks",
    key: ["org_id", "webhook_id"],
    column: "next_secret_sealed",
    member: null,
  },
  webhook_headers: { table: "webhooks", key: ["org_id", "webhook_id"], column: "headers_sealed", member: null },
  context_sources: { table: "context_sources", key: ["org_id"], column: "secret_sealed", member: null },
  single_sign_on: { table: "single_sign_on", key: ["org_id"], column: "secret_sealed", member: null },
  second_factors: { table: "people", key: ["org_id", "user_id"], column: "totp_sealed", member: null },
  channels: { table: "channels", key: ["org_id", "channel"], column: "secret_sealed", member: null },
  push_devices: { table: "push_devices", key: ["org_id", "device_id"], column: "subscription_sealed", member: null },
  log_keys: { table: "log_keys", key: ["org_id", "key_id"], column: "seed_sealed", member: null },
  streams: { table: "streams", key: ["org_id", "stream_id"], column: "secret_sealed", member: null },
  erasures: { table: "erasures", key: ["org_id", "erasure_id"], column: "subject_sealed", member: null },
  mails: { table: "mails", key: ["mail_id"], column: "sealed", member: null },
  begun_logins: { table: "person_tokens", key: ["token_sha256"], column: "subject", member: "sealed" },
} as const satisfies Record<string, Place>;

export type SealedPlace = keyof typeof places;

export const sealedPlaces = Object.keys(places) as readonly SealedPlace[];

export interface SealedText {
  /** The primary key as texts. A SHA-256 is hex. */
  readonly key: readonly string[];
  readonly sealed: string;
  /** The whole column, which contains `sealed` once. */
  readonly stored: string;
}

const sealedIn = ({ column, member }: Place) => (member === null ? column : `${column} ->> '${member}'`);
const isHash = (name: string) => name.endsWith("_sha256");
const asText = (name: string) => (isHash(name) ? `encode(${name}, 'hex')` : name);
const fromText = (name: string, text: string) => (isHash(name) ? `decode(${text}, 'hex')` : text);

/** Returns texts without `prefix`, by primary key, after the row `after`. System scope. */
export function readSealedTexts(
  query: Query,
  name: SealedPlace,
  { prefix, after, limit }: { prefix: string; after: readonly string[] | null; limit: number },
): Promise<SealedText[]> {
  const place: Place = places[name];
  const { table, key, column } = place;
  const beyond = `(${key.join(", ")}) > (${key.map((each, n) => fromText(each, `$${n + 3}::text`)).join(", ")})`;
  return query<SealedText>(
    `select array[${key.map(asText).join(", ")}] as key, ${sealedIn(place)} as sealed, ${column}::text as stored
     from ${table} where not starts_with(${sealedIn(place)}, $1) ${after === null ? "" : `and ${beyond}`}
     order by ${key.join(", ")} limit $2::integer`,
    [prefix, limit, ...(after ?? [])],
  );
}

interface StoredChange {
  readonly key: readonly string[];
  readonly stored: string;
  readonly replaced: string;
}

/** System scope. */
export async function replaceStored(
  query: Query,
  name: SealedPlace,
  changes: readonly StoredChange[],
): Promise<number> {
  const place: Place = places[name];
  if (place.key[0] !== "org_id") return replaceWhere(query, place, changes, "true", []);
  let replaced = 0;
  for (const [org_id, own] of byOrganization(changes.map((change) => ({ ...change, org_id: change.key[0] ?? "" }))))
    replaced += await replaceWhere(query, place, own, "t.org_id = $2", [org_id]);
  return replaced;
}

async function replaceWhere(
  query: Query,
  { table, key, column, member }: Place,
  changes: readonly StoredChange[],
  condition: string,
  params: readonly string[],
): Promise<number> {
  // Converts first, because row-level security uses no index for values taken from JSON in the comparison.
  const named = key.map((each, n) => `${fromText(each, `(key ->> ${n})`)} as ${each}`).join(", ");
  const same = key.map((each) => `t.${each} = i.${each}`).join(" and ");
  const rows = await query(
    `update ${table} t set ${column} = i.replaced${member === null ? "" : "::json"}
     from (select ${named}, stored, replaced from json_to_recordset($1::json) as c(key json, stored text, replaced text) offset 0) as i
     where ${condition} and ${same} and t.${column}::text = i.stored returning true as replaced`,
    [JSON.stringify(changes), ...params],
  );
  return rows.length;
}

/** System scope. */
export async function countSealedTexts(
  query: Query,
  name: SealedPlace,
  prefix: string,
): Promise<{ readonly total: number; readonly prefixed: number }> {
  const place: Place = places[name];
  const [counts] = await query<{ total: number; prefixed: number }>(
    `select count(*)::integer as total, count(*) filter (where starts_with(${sealedIn(place)}, $1))::integer as prefixed
     from ${place.table} where ${sealedIn(place)} is not null`,
    [prefix],
  );
  return counts as { total: number; prefixed: number };
}
