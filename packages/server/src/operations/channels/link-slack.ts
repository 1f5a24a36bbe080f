import { limits, type SlackLinkCode } from "@countersign/contract";
import { Fault, faultAt, formatTimestampUs, type SlackAccount, us_per_second } from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import { readChannel } from "../../store/channels/channels.ts";
import { deleteChatLink, writeChatLink } from "../../store/channels/chat-links.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { readPerson } from "../../store/people/people.ts";
import { deleteTokensOf, insertToken, takeToken } from "../../store/people/person-tokens.ts";
import { databaseNowUs } from "../../store/rows/database-now.ts";
import { refuseEnded } from "../people/caller-ended.ts";
import { personCalling, tokenHash } from "../people/session.ts";
import type { Recording } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

/** About 95 random bits, because the code needs no account to try it. */
const code_chars = 16;

/**
 * Makes a code that links one Slack account to the calling person. A new code replaces the earlier one. Faults:
 * state_conflict (Slack is not connected), those of refuseEnded.
 */
export async function beginSlackLink(runtime: Recording, caller: Caller): Promise<SlackLinkCode> {
  const { org_id, user_id } = personCalling(caller);
  const code = runtime.ids.secret(code_chars);
  return runtime.db.system(async (query) => {
    let expires_us = 0;
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      if ((await readChannel(query, org_id, "slack")) === undefined)
        throw faultAt("state_conflict", "", "not_allowed", "An admin must connect Slack first, in the settings.");
      await deleteTokensOf(query, "chat_link", org_id, user_id);
      await insertToken(query, "chat_link", tokenHash(code), org_id, { user_id });
      expires_us = (await databaseNowUs(query)) + limits.chat_link_seconds * us_per_second;
      return null;
    });
    return { code, command: `/countersign link ${code}`, expires_at: formatTimestampUs(expires_us) };
  });
}

/** Uses up a code. Returns the linked person's address; null: the code is unknown, used or expired. */
export async function linkSlackAccount(
  runtime: Recording,
  org_id: string,
  account: SlackAccount,
  code: string,
): Promise<string | null> {
  return runtime.db.system(async (query) => {
    const taken = await takeToken(query, "chat_link", tokenHash(code));
    const user_id = taken?.org_id === org_id ? taken.subject["user_id"] : undefined;
    const person = user_id === undefined ? undefined : await readPerson(query, org_id, user_id);
    if (person === undefined) return null;
    await withHead(query, org_id, async () => {
      await writeChatLink(query, org_id, person.user_id, account);
      const at = formatTimestampUs(runtime.clock.now_us());
      const data = { user_id: person.user_id, channel: "slack", ...account };
      const entry = { intent_id: null, at, actor: person.user_id, type: "chat_account_linked", data } as const;
      // The account may have been another person's, whose votes from there must not count any more.
      return { raise: ["auth"], audit: [auditRow(runtime.ids, entry)] };
    });
    return person.email;
  });
}

/** After the commit no vote from the account counts. Faults: not_found, those of refuseEnded. */
export async function endSlackLink(runtime: Recording, caller: Caller): Promise<void> {
  const { org_id, user_id } = personCalling(caller);
  const at = formatTimestampUs(runtime.clock.now_us());
  await runtime.db.system((query) =>
    withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      if (!(await deleteChatLink(query, org_id, user_id))) throw new Fault("not_found");
      const data = { user_id, channel: "slack" };
      const entry = { intent_id: null, at, actor: user_id, type: "chat_account_unlinked", data } as const;
      return { raise: ["auth"], audit: [auditRow(runtime.ids, entry)] };
    }),
  );
}
