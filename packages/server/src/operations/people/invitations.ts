import {
  type AcceptInvitationInput,
  type Invitation,
  type InvitationInput,
  limits,
  type PersonRole,
} from "@countersign/contract";
import { Fault, faultAt, formatTimestampUs, sha256Hex } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { type AuditRow, auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { readOrganizationName } from "../../store/organizations/organizations.ts";
import {
  countInvitations,
  deleteInvitations,
  insertInvitation,
  type KeptInvitation,
  readInvitation,
  listInvitations as readInvitations,
} from "../../store/people/invitations.ts";
import {
  countPeople,
  emailDomain,
  emailKey,
  findPerson,
  forgetRemoved,
  insertPerson,
  readPerson,
} from "../../store/people/people.ts";
import { deleteTokens, insertToken, readToken, takeToken } from "../../store/people/person-tokens.ts";
import { readSingleSignOn } from "../../store/people/single-sign-on.ts";
import { countStrangerInvitation } from "../../store/people/stranger-invitations.ts";
import { decodeCursor, idPlace, page, pageLimitDefault } from "../../store/rows/cursor.ts";
import type { OnceAnswer } from "../../store/rows/idempotency.ts";
import type { Recording, Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { idempotent } from "../shared/idempotent.ts";
import { refuseEnded } from "./caller-ended.ts";
import { writeMail } from "./mail.ts";
import { type Begun, beginSession, type Client, newToken, tokenHash } from "./session.ts";
import { linkFault } from "./sign-up.ts";

const isInvitation = idPlace("invitation");

function shown({ invitation_id, email, name, role, created_at, expires_at }: KeptInvitation): Invitation {
  return { invitation_id, email, name, role, created_at, expires_at };
}

/**
 * Mails an invitation, in place of an earlier one. `source`: the client's network. Faults: already_exists (already a
 * person, or the maximum of people or invitations), missing_api_key, invalid_api_key, idempotency_conflict.
 */
export async function invitePerson(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "sealer" | "mails">,
  caller: Caller,
  input: InvitationInput,
  source: string,
  idempotency_key: string | undefined,
): Promise<OnceAnswer<Invitation>> {
  const { org_id, actor } = caller;
  const { email } = input;
  const terms = { operation: "invite_user", idempotency_key, request: input, scope: "system" } as const;
  const answer = await idempotent(runtime, caller, terms, async (query) => {
    let invitation: KeptInvitation | undefined;
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      const person = await findPerson(query, email);
      if (person?.org_id === org_id) throw taken("/email", "This person belongs to the organization already.");
      if ((await countPeople(query, org_id)) === 0) await refuseStranger(query, org_id, source);
      const made = await makeInvitation(runtime, query, caller, input, actor);
      invitation = made.invitation;
      return made;
    });
    return shown(invitation as KeptInvitation);
  });
  runtime.mails.wake();
  return answer;
}

/**
 * Invites an address that the organization's provider confirmed, with the role of its open invitation, else `role`.
 * Runs under the head's lock and returns audit rows. An invitation of the last minute stays.
 */
export async function inviteArrived(
  runtime: Pick<Runtime, "clock" | "ids" | "sealer">,
  query: Query,
  org_id: string,
  { email, role, name }: InvitationInput,
): Promise<readonly AuditRow[]> {
  const open = await readInvitation(query, org_id, emailKey(email));
  if (open !== undefined && open.age_seconds < limits.password_mail_every_seconds) return [];
  // The original sender stays responsible: the invitation ends with the sender's role.
  const sender = open?.invited_by ?? "system";
  const shown_name = open?.name ?? name;
  const input = { email, role: open?.role ?? role, ...(shown_name === undefined ? {} : { name: shown_name }) };
  return (await makeInvitation(runtime, query, { org_id, actor: "system" }, input, sender)).audit;
}

async function makeInvitation(
  runtime: Pick<Runtime, "clock" | "ids" | "sealer">,
  query: Query,
  caller: Pick<Caller, "org_id" | "actor">,
  { email, role, name }: InvitationInput,
  sender: string,
): Promise<{ readonly invitation: KeptInvitation; readonly audit: readonly AuditRow[] }> {
  const { org_id, actor } = caller;
  await refuseTooMany(query, org_id);
  const token = newToken(runtime);
  const token_sha256 = tokenHash(token);
  const invitation_id = runtime.ids.next("invitation");
  const replaced = await withdrawn(runtime, query, caller, { email });
  if ((await countInvitations(query, org_id)) >= limits.open_invitations_per_organization_max)
    throw taken("", `At most ${limits.open_invitations_per_organization_max} invitations may be open at once.`);
  const invitation = await insertInvitation(
    query,
    org_id,
    { invitation_id, email, name: name ?? null, role, token_sha256 },
    sender,
  );
  const named = name === undefined ? {} : { name };
  await insertToken(query, "invitation", token_sha256, org_id, { email, role, invitation_id, ...named });
  const org_name = await readOrganizationName(query, org_id);
  await writeMail(runtime, query, "invitation", { to: email, org_name, role, token });
  const at = formatTimestampUs(runtime.clock.now_us());
  const data = { invitation_id, email, role, ...named };
  const invited = auditRow(runtime.ids, { intent_id: null, at, actor, type: "user_invited", data });
  return { invitation, audit: [...replaced, invited] };
}

/** Lists open invitations, newest first. Faults: invalid_request (cursor). */
export async function listInvitations(
  runtime: Pick<Runtime, "db">,
  { org_id }: Pick<Caller, "org_id">,
  { limit = pageLimitDefault, cursor }: { readonly limit?: number; readonly cursor?: string } = {},
): Promise<{ invitations: Invitation[]; next_cursor: string | null }> {
  const before = decodeCursor(cursor, isInvitation);
  const found = await runtime.db.tenant(org_id, (query) => readInvitations(query, org_id, limit + 1, before));
  const { rows, next_cursor } = page(found, limit, (each) => each.invitation_id);
  return { invitations: rows.map(shown), next_cursor };
}

/** Withdraws an invitation and its link. Faults: not_found, those of refuseEnded. */
export async function revokeInvitation(runtime: Recording, caller: Caller, invitation_id: string): Promise<void> {
  const { org_id } = caller;
  await runtime.db.system(async (query) => {
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      const audit = await withdrawn(runtime, query, caller, { invitation_ids: [invitation_id] });
      if (audit.length === 0) throw new Fault("not_found");
      return { audit };
    });
  });
}

/** `sent_by_chains`: sent by any key of these chains of rotations (lineage_id). */
type Which =
  | { readonly invitation_ids: readonly string[] }
  | { readonly sent_by_chains: readonly string[] }
  | { readonly email: string };

/**
 * Withdraws invitations under the head's lock and returns audit rows. A key's invitations end with it, because its
 * holder could invite an own address.
 */
export async function withdrawn(
  runtime: Pick<Runtime, "clock" | "ids">,
  query: Query,
  { org_id, actor }: Pick<Caller, "org_id" | "actor">,
  which: Which,
): Promise<AuditRow[]> {
  const at = formatTimestampUs(runtime.clock.now_us());
  const deleted = await voidInvitations(query, org_id, which);
  return deleted.map(({ invitation_id, email }) =>
    auditRow(runtime.ids, { intent_id: null, at, actor, type: "invitation_revoked", data: { invitation_id, email } }),
  );
}

async function voidInvitations(query: Query, org_id: string, which: Which): Promise<KeptInvitation[]> {
  const wanted = "email" in which ? { email: emailKey(which.email) } : which;
  const deleted = await deleteInvitations(query, org_id, wanted);
  const tokens = deleted.map(({ token_sha256 }) => token_sha256);
  if (tokens.length > 0) await deleteTokens(query, tokens);
  return deleted;
}

/**
 * Creates the invited person and begins the first session. Following the link proves the address. Faults: not_found
 * (link), already_exists (the address has an account, or the maximum of people is reached), invalid_request (no
 * password, and no provider for the address), overloaded.
 */
export async function acceptInvitation(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "passwords">,
  input: AcceptInvitationInput,
  client: Client,
): Promise<Begun> {
  const created_at = formatTimestampUs(runtime.clock.now_us());
  const token_sha256 = tokenHash(input.token);
  // Check the link before the expensive hash, because strangers can invent links.
  const token = await runtime.db.system((query) => readToken(query, "invitation", token_sha256));
  const { email, role, invitation_id, name } = token?.subject ?? {};
  const org_id = token?.org_id;
  if (org_id == null || email === undefined || role === undefined || invitation_id === undefined) throw linkFault();
  if (input.password === undefined && !(await mayJoinWithoutPassword(runtime, org_id, email)))
    throw faultAt("invalid_request", "/password", "required", "Choose a password.");
  const password_hash = input.password === undefined ? null : await runtime.passwords.hash(input.password);
  return runtime.db.system(async (query) => {
    const user_id = runtime.ids.next("user");
    await withHead(query, org_id, async () => {
      if ((await takeToken(query, "invitation", token_sha256)) === undefined) throw linkFault();
      await refuseTooMany(query, org_id);
      await deleteInvitations(query, org_id, { invitation_ids: [invitation_id] });
      const named = name === undefined ? {} : { name };
      const joined = { org_id, user_id, email, role: role as PersonRole, password_hash, created_at, ...named };
      if (!(await insertPerson(query, joined))) throw taken("/token", address_taken, "address_taken");
      await forgetRemoved(query, org_id, email);
      const entry = { intent_id: null, at: created_at, actor: user_id, type: "user_joined" } as const;
      return { audit: [auditRow(runtime.ids, { ...entry, data: { user_id, email, role, ...named } })] };
    });
    const person = await readPerson(query, org_id, user_id);
    if (person === undefined) throw new Error("a person who has just joined is gone");
    return beginSession(runtime, query, person, client);
  });
}

async function mayJoinWithoutPassword({ db }: Pick<Runtime, "db">, org_id: string, email: string): Promise<boolean> {
  const provider = await db.tenant(org_id, (query) => readSingleSignOn(query, org_id));
  return provider?.email_domains.includes(emailDomain(email)) ?? false;
}

const address_taken = "It belongs to one organization: sign in there, or ask for an invitation to another address.";

/** Call under the head's lock, so that the count stays valid. Faults: already_exists. */
async function refuseTooMany(query: Query, org_id: string): Promise<void> {
  if ((await countPeople(query, org_id)) >= limits.people_per_organization_max)
    throw taken("", `An organization has at most ${limits.people_per_organization_max} people.`);
}

/**
 * Limits mails from organizations that no person has joined, which anyone can create. Those of one client address also
 * count together.
 */
async function refuseStranger(query: Query, org_id: string, source: string): Promise<void> {
  const { unconfirmed_invitations_per_organization_max: own_max, unconfirmed_invitations_per_source_max: source_max } =
    limits;
  const senders = [`org ${org_id}`, `ip ${sha256Hex(source)}`];
  const [own = 0, from_source = 0] = await countStrangerInvitation(query, senders);
  if (own > own_max)
    throw taken(
      "",
      `Until somebody has joined, an organization sends at most ${own_max} invitations a day. Accept one of them first.`,
    );
  if (from_source > source_max)
    throw taken(
      "",
      `Organizations that nobody has joined send at most ${source_max} invitations a day from one address.`,
    );
}

function taken(path: string, message: string, code: "already_exists" | "address_taken" = "already_exists"): Fault {
  return faultAt("already_exists", path, code, message);
}
