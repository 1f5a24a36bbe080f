import { type Invitation, limits, type PersonRole } from "@countersign/contract";
import type { Query } from "../../ports.ts";

export interface KeptInvitation extends Invitation {
  readonly role: PersonRole;
  /** Hex. */
  readonly token_sha256: string;
}

const columns = "invitation_id, email, name, role, created_at, expires_at, encode(token_sha256, 'hex') as token_sha256";

/** Expires together with a link that the same transaction stores. */
export async function insertInvitation(
  query: Query,
  org_id: string,
  invitation: Omit<KeptInvitation, "created_at" | "expires_at">,
  invited_by: string,
): Promise<KeptInvitation> {
  const { invitation_id, email, name, role, token_sha256 } = invitation;
  const [row] = await query<KeptInvitation>(
    `insert into invitations (org_id, invitation_id, email, role, token_sha256, invited_by, created_at, expires_at, name)
     values ($1, $2, $3, $4, decode($5, 'hex'), $6, now(), now() + make_interval(secs => $7::integer), $8) returning ${columns}`,
    [org_id, invitation_id, email, role, token_sha256, invited_by, limits.invitation_link_seconds, name],
  );
  return row as KeptInvitation;
}

export interface OpenInvitation {
  readonly role: PersonRole;
  readonly name: string | null;
  readonly invited_by: string;
  readonly age_seconds: number;
}

/** `email` is lower case. */
export async function readInvitation(query: Query, org_id: string, email: string): Promise<OpenInvitation | undefined> {
  const [row] = await query<OpenInvitation>(
    `select role, name, invited_by, extract(epoch from clock_timestamp() - created_at)::float8 as age_seconds from invitations
     where org_id = $1 and lower(email collate "C") = $2 and expires_at > clock_timestamp()`,
    [org_id, email],
  );
  return row;
}

/** Newest first, below the id `before`. */
export function listInvitations(
  query: Query,
  org_id: string,
  limit: number,
  before: string | null,
): Promise<KeptInvitation[]> {
  return query<KeptInvitation>(
    `select ${columns} from invitations
     where org_id = $1 and expires_at > clock_timestamp() and ($2::text is null or invitation_id < $2)
     order by invitation_id desc limit $3::integer`,
    [org_id, before, limit],
  );
}

/** Changes the sender (key_id, user_id, `system`). Invitations end when their sender ends. */
export async function giveInvitations(
  query: Query,
  org_id: string,
  invitation_ids: readonly string[],
  to: string,
): Promise<void> {
  await query("update invitations set invited_by = $3 where org_id = $1 and invitation_id = any($2::text[])", [
    org_id,
    invitation_ids,
    to,
  ]);
}

export async function countInvitations(query: Query, org_id: string): Promise<number> {
  const [row] = await query<{ n: number }>(
    "select count(*)::integer as n from invitations where org_id = $1 and expires_at > clock_timestamp()",
    [org_id],
  );
  return row?.n ?? 0;
}

/** Deletes and returns invitations by id, by address (lower case), or by the sender's rotation chain. */
export function deleteInvitations(
  query: Query,
  org_id: string,
  which: {
    readonly invitation_ids?: readonly string[];
    readonly email?: string;
    readonly sent_by_chains?: readonly string[];
  },
): Promise<KeptInvitation[]> {
  return query<KeptInvitation>(
    `delete from invitations where org_id = $1 and ($2::text[] is null or invitation_id = any($2))
       and ($3::text is null or lower(email collate "C") = $3)
       and ($4::text[] is null or invited_by in (select key_id from api_keys where org_id = $1 and lineage_id = any($4)))
     returning ${columns}`,
    [org_id, which.invitation_ids ?? null, which.email ?? null, which.sent_by_chains ?? null],
  );
}
