/** SQL for trusted issuers of agent tokens. Every change holds the head's lock and raises the policy epoch. */
import type { TokenIssuer } from "@countersign/contract";
import type { Query } from "../../ports.ts";

const columns =
  "issuer_id, issuer, trust_domain, jwks_url, jwks, audience, algorithms, claims, leeway_seconds, created_at";

/** Oldest first. */
export function readTokenIssuers(query: Query, org_id: string): Promise<TokenIssuer[]> {
  return query<TokenIssuer>(`select ${columns} from token_issuers where org_id = $1 order by issuer_id`, [org_id]);
}

/** Replaces the issuer with the same id. */
export async function writeTokenIssuer(query: Query, org_id: string, issuer: TokenIssuer): Promise<void> {
  await query(
    `insert into token_issuers (org_id, ${columns})
     values ($1, $2, $3, $4, $5, $6::json, $7::json, $8::json, $9::json, $10::integer, $11::timestamptz)
     on conflict (org_id, issuer_id) do update set issuer = excluded.issuer, trust_domain = excluded.trust_domain,
       jwks_url = excluded.jwks_url, jwks = excluded.jwks, audience = excluded.audience, algorithms = excluded.algorithms,
       claims = excluded.claims, leeway_seconds = excluded.leeway_seconds, created_at = excluded.created_at`,
    [
      org_id,
      issuer.issuer_id,
      issuer.issuer,
      issuer.trust_domain,
      issuer.jwks_url,
      issuer.jwks === null ? null : JSON.stringify(issuer.jwks),
      JSON.stringify(issuer.audience),
      JSON.stringify(issuer.algorithms),
      JSON.stringify(issuer.claims),
      issuer.leeway_seconds,
      issuer.created_at,
    ],
  );
}

export async function deleteTokenIssuer(query: Query, org_id: string, issuer_id: string): Promise<void> {
  await query("delete from token_issuers where org_id = $1 and issuer_id = $2", [org_id, issuer_id]);
}
