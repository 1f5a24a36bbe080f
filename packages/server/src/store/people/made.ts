/** SQL for what a person made and what acts without the person: keys, webhooks, open invitations. */
import type { MadeThing } from "@countersign/contract";
import type { Query } from "../../ports.ts";

/**
 * SQL: looks up the keys that each of the makers `m` made. `offset 0` keeps it a look-up in an index for each maker. As a plain join
 * it compared each key with each maker where PostgreSQL expected few of them: 20,000 keys took 20 s.
 */
const keysOf = (columns: string, which: string) =>
  `from makers m cross join lateral (
     select ${columns} from api_keys where org_id = $1 and created_by = m.id and ${which} offset 0) k`;

/** The ids of `$2`, a person, and of all keys that the person made, or that such a key made, revoked ones too. */
const makers = `with recursive makers (id) as (
    select $2::text
    union
    select k.key_id ${keysOf("key_id", "true")})`;

/**
 * Returns what a person made that is still in force, also what was made with a key of that person. Ordered by kind and id.
 * Under the head's lock nothing is added to it.
 */
export function readMade(query: Query, org_id: string, user_id: string): Promise<MadeThing[]> {
  return query<MadeThing>(
    `${makers}
     select 'api_key' as kind, k.* ${keysOf("key_id as id, name, created_at", "revoked_at is null and expires_at > clock_timestamp()")}
     union all
     select 'invitation', invitation_id, email, created_at from invitations
     where org_id = $1 and invited_by in (select id from makers) and expires_at > clock_timestamp()
     union all
     select 'webhook', webhook_id, url, created_at from webhooks where org_id = $1 and created_by in (select id from makers)
     order by kind, id`,
    [org_id, user_id],
  );
}
