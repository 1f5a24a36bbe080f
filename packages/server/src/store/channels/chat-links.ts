/** SQL for the accounts of people in chats. Changes hold the lock of the organization's head. */
import type { Role } from "@countersign/contract";
import type { SlackAccount } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { newestHead } from "../rows/newest-head.ts";

export interface ChatLink extends SlackAccount {
  readonly linked_at: string;
}

export async function readChatLink(query: Query, org_id: string, user_id: string): Promise<ChatLink | undefined> {
  const [link] = await query<ChatLink>(
    "select team_id, chat_user_id, linked_at from chat_links where org_id = $1 and user_id = $2",
    [org_id, user_id],
  );
  return link;
}

export interface LinkedPerson {
  readonly user_id: string;
  readonly role: Role;
  readonly auth_epoch: number;
  /** The organization requires a second factor, and the person has neither an authenticator nor a passkey. */
  readonly second_factor_missing: boolean;
}

/** Returns the person of an account with the organization's epoch, from one snapshot. */
export async function readLinkedPerson(
  query: Query,
  org_id: string,
  { team_id, chat_user_id }: SlackAccount,
): Promise<LinkedPerson | undefined> {
  const [person] = await query<LinkedPerson>(
    `select l.user_id, p.role, h.auth_epoch,
       o.second_factor_required and p.totp_confirmed_at is null
         and not exists (select from passkeys k where k.org_id = $1 and k.user_id = l.user_id) as second_factor_missing
     from chat_links l
     join people p on p.org_id = $1 and p.user_id = l.user_id
     join organizations o on o.org_id = $1
     cross join lateral ${newestHead("$1", "auth_epoch")} h
     where l.org_id = $1 and l.team_id = $2 and l.chat_user_id = $3`,
    [org_id, team_id, chat_user_id],
  );
  return person;
}

/** Replaces the account of the person. An account that was another person's becomes this person's. */
export async function writeChatLink(
  query: Query,
  org_id: string,
  user_id: string,
  { team_id, chat_user_id }: SlackAccount,
): Promise<void> {
  await query("delete from chat_links where org_id = $1 and (user_id = $2 or (team_id = $3 and chat_user_id = $4))", [
    org_id,
    user_id,
    team_id,
    chat_user_id,
  ]);
  await query(
    `insert into chat_links (org_id, user_id, team_id, chat_user_id, linked_at)
     values ($1, $2, $3, $4, statement_timestamp())`,
    [org_id, user_id, team_id, chat_user_id],
  );
}

/** False: the person had no link. */
export async function deleteChatLink(query: Query, org_id: string, user_id: string): Promise<boolean> {
  const rows = await query("delete from chat_links where org_id = $1 and user_id = $2 returning true as deleted", [
    org_id,
    user_id,
  ]);
  return rows.length > 0;
}
