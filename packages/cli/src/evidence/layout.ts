/** The files of an evidence archive. */
export const archive_format = "countersign.evidence.v1";

export const names = {
  manifest: "MANIFEST.json",
  readme: "README.txt",
  summary: "summary.html",
  decisions: "records/decisions.jsonl",
  audit: "records/audit.jsonl",
  in_force: "policies/in-force.json",
  checkpoint: "log/checkpoint.txt",
  keys: "log/keys.txt",
  key_history: "log/key-history.json",
  range: "log/range.json",
  verify_page: "verify.html",
} as const;

export const receiptName = (intent_id: string): string => `receipts/${intent_id}.json`;

/** Returns the intent of a receipt's file; null: the name is another one. */
export function intentOf(name: string): string | null {
  return /^receipts\/(int_[0-9A-Za-z]{1,64})\.json$/.exec(name)?.[1] ?? null;
}

export const policyName = (policy_id: string, version: number): string => `policies/${policy_id}.v${version}.json`;

export interface Manifest {
  readonly format: typeof archive_format;
  readonly org_id: string;
  /** RFC 3339. `from` is included, `to` is not. */
  readonly from: string;
  readonly to: string;
  /** The newest audit record that the archive covers. */
  readonly as_of_seq: number;
  readonly made_at: string;
  readonly decisions: number;
  /** SHA-256 in hex by name, of all files except this one. */
  readonly files: Readonly<Record<string, string>>;
}

/** Proves that the log has the entries `first` to `last` at their places, and no others between them. */
export interface RangeProof {
  readonly first: number;
  readonly last: number;
  /** Of the checkpoint. */
  readonly size: number;
  /** Base64, from left to right. */
  readonly hashes: readonly string[];
}

/** A version of a policy that was in force in the period. */
export interface PolicyInForce {
  readonly policy_id: string;
  readonly version: number;
  readonly name: string;
  readonly mode: "live" | "shadow";
  readonly sha256: string;
  /** RFC 3339. */
  readonly from: string;
  /** Null: still in force when the archive was made. */
  readonly until: string | null;
  /** The audit record of the activation. */
  readonly seq: number;
  readonly activated_by: string | null;
  readonly file: string;
}

/** How a membrane was set. */
export interface MembraneInForce {
  readonly membrane_id: string;
  readonly name: string;
  readonly status: string;
  readonly packs: readonly string[];
  readonly from: string;
  readonly until: string | null;
  readonly seq: number;
}

export interface InForce {
  readonly policies: readonly PolicyInForce[];
  readonly membranes: readonly MembraneInForce[];
  /** The packs that these membranes used, as the service that made the archive has them. */
  readonly packs: readonly unknown[];
}

/**
 * Entries of the log are in the order of times, except for at most this much. So the archive has the records of the period
 * and of this long before and after it, and no entry of the period is missing between them.
 */
export const margin_ms = 10 * 60_000;
