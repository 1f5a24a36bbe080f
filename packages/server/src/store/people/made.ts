/** SQL for what a person made and what acts without the person: keys, webhooks, open invitations. */
import type { MadeThing } from "@countersign/contract";
import type { Query } from "../../ports.ts";

/** The ids of `$2`, a person, and of all keys that the person made, or that such a key made, revoked ones too. */
const makers = `with recursive makers (id) as (
    select $2::text
    union
    select k.key_id from makers m join api_keys k on k.org_id = $1 and k.created_by = m.id)`;

/**
 * Returns what a person made that is still in force, also what was made with a key of that person. Ordered by kind and id.
 * Under the head's lock nothing is added to it.
 */
export function readMade(query: Query, org_id: string, user_id: string): Promise<MadeThing[]> {
  return query<MadeThing>(
    `${makers}
     select 'api_key' as kind, key_id as id, name, created_at from api_keys
     where org_id = $1 and created_by in (select id from makers) and revoked_at is null and expires_at > clock_timestamp()
     union all
     select 'invitation', invitation_id, email, created_at from invitations
     where org_id = $1 and invited_by in (select id from makers) and expires_at > clock_timestamp()
     union all
     select 'webhook', webhook_id, url, created_at from webhooks where org_id = $1 and created_by in (select id from makers)
     order by kind, id`,
    [org_id, user_id],
  );
}
