import type { Query } from "../../ports.ts";

/**
 * Returns up to `limit` people (user_id) and API keys (key_id) with a part of this text in their name or address, in any
 * case of its letters. Also finds people by earlier names, and people who were removed.
 */
export async function actorsByName(query: Query, org_id: string, part: string, limit: number): Promise<string[]> {
  const has = (text: string) => `strpos(lower(${text}), lower($2)) > 0`;
  const rows = await query<{ id: string }>(
    `select user_id as id from people where org_id = $1 and (${has("name")} or ${has("email")})
     union select key_id from api_keys where org_id = $1 and ${has("name")}
     union select data ->> 'user_id' from ledger
       where org_id = $1 and type in ('user_joined', 'user_removed', 'user_name_changed')
         and (${has("data ->> 'name'")} or ${has("data ->> 'email'")} or ${has("data ->> 'from'")})
     order by id limit $3::integer`,
    [org_id, part, limit],
  );
  return rows.map(({ id }) => id);
}
