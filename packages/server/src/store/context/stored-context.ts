/** SQL for pushed facts: one document for the organization, for each agent and each target. */

import { type ContextDocument, foldName } from "@countersign/contract";
import { canonicalJson, sha256Hex } from "@countersign/core";
import type { Query } from "../../ports.ts";

export type ContextSubject =
  | { readonly scope: "org" }
  | { readonly scope: "agent"; readonly agent_id: string }
  | { readonly scope: "target"; readonly type: string; readonly identifier: string };

/** A stored document. `received_at` is the as-of time of categories without one. */
export interface StoredContext {
  readonly scope: "org" | "agent" | "target";
  readonly subject: string;
  readonly document: ContextDocument;
  readonly received_at: string;
  /** Bytes of the document's text. */
  readonly bytes: number;
}

/** Longer targets are hashed: an index entry holds 2,704 bytes, and a target may have 4 KiB. */
const plain_target_bytes_max = 1_024;

/** Returns the key within its scope. A target has `[type,identifier]`, or the digest of a long one. */
export function subjectKey(subject: ContextSubject): string {
  switch (subject.scope) {
    case "org":
      return "";
    case "agent":
      return subject.agent_id;
    case "target": {
      const name = canonicalJson([subject.type, subject.identifier]);
      return Buffer.byteLength(name) <= plain_target_bytes_max ? name : `sha256:${sha256Hex(name)}`;
    }
  }
}

/** Returns the key that all spellings of the subject share. */
export function foldedKey(subject: ContextSubject): string {
  switch (subject.scope) {
    case "org":
      return "";
    case "agent":
      return foldName(subject.agent_id);
    case "target":
      return subjectKey({ ...subject, type: foldName(subject.type), identifier: foldName(subject.identifier) });
  }
}

/** `respelled`: the document is about another spelling of the id. */
export interface ContextFor extends StoredContext {
  readonly respelled: boolean;
}

/**
 * Returns the documents about these subjects. A subject without a document gets those of its other spellings. Otherwise
 * an agent could escape its facts by a new spelling.
 */
export async function readContextFor(
  query: Query,
  org_id: string,
  subjects: readonly ContextSubject[],
): Promise<ContextFor[]> {
  const rows = await query<StoredContext & { folded: string }>(
    `select scope, subject, folded, document, received_at, octet_length(document::text) as bytes from stored_context
     where org_id = $1 and ((scope, folded) in (select * from unnest($2::text[], $3::text[]))
       or (scope, subject) in (select * from unnest($2::text[], $4::text[])))`,
    [org_id, subjects.map((each) => each.scope), subjects.map(foldedKey), subjects.map(subjectKey)],
  );
  return subjects.flatMap((subject) => {
    const [key, folded_key] = [subjectKey(subject), foldedKey(subject)];
    const about = rows.filter(
      (row) => row.scope === subject.scope && (row.subject === key || row.folded === folded_key),
    );
    const own = about.filter((row) => row.subject === key);
    const respelled = own.length === 0;
    return (respelled ? about : own).map(({ folded: _, ...row }) => ({ ...row, respelled }));
  });
}

/** Returns the documents of exactly these subjects, in no order. */
export async function readStoredContext(
  query: Query,
  org_id: string,
  subjects: readonly ContextSubject[],
): Promise<StoredContext[]> {
  return query<StoredContext>(
    `select scope, subject, document, received_at, octet_length(document::text) as bytes from stored_context
     where org_id = $1 and (scope, subject) in (select * from unnest($2::text[], $3::text[]))`,
    [org_id, subjects.map((each) => each.scope), subjects.map(subjectKey)],
  );
}

export async function writeStoredContext(
  query: Query,
  org_id: string,
  subject: ContextSubject,
  document: ContextDocument,
  received_at: string,
  updated_by: string | null,
): Promise<void> {
  await query(
    `insert into stored_context (org_id, scope, subject, folded, document, received_at, updated_by)
     values ($1, $2, $3, $4, $5::json, $6::timestamptz, $7)
     on conflict (org_id, scope, subject) do update
       set folded = excluded.folded, document = excluded.document, received_at = excluded.received_at, updated_by = excluded.updated_by`,
    [org_id, subject.scope, subjectKey(subject), foldedKey(subject), JSON.stringify(document), received_at, updated_by],
  );
}

/** Returns false if there was none. */
export async function deleteStoredContext(query: Query, org_id: string, subject: ContextSubject): Promise<boolean> {
  const rows = await query(
    "delete from stored_context where org_id = $1 and scope = $2 and subject = $3 returning 1 as one",
    [org_id, subject.scope, subjectKey(subject)],
  );
  return rows.length > 0;
}
