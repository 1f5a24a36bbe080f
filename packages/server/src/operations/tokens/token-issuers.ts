import { limits, type TokenIssuer, type TokenIssuerInput, tokenAlgorithms } from "@countersign/contract";
import { Fault, faultAt, formatTimestampUs } from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { deleteTokenIssuer, readTokenIssuers, writeTokenIssuer } from "../../store/tokens/token-issuers.ts";
import { type KnownCaller, refuseEnded } from "../people/caller-ended.ts";
import type { Recording, Runtime } from "../runtime.ts";
import { acceptedUrl } from "../webhooks/webhook-events.ts";
import { refuseUnfitKeys } from "./key-sets.ts";

type Changing = Recording & Pick<Runtime, "httpOut">;

/** Faults: invalid_request, webhook_url_refused, already_exists (issuer, or too many), those of refuseEnded. */
export async function addTokenIssuer(
  runtime: Changing,
  caller: KnownCaller,
  input: TokenIssuerInput,
): Promise<TokenIssuer> {
  return write(runtime, caller, input, null);
}

export function listTokenIssuers({ db }: Pick<Runtime, "db">, { org_id }: KnownCaller): Promise<TokenIssuer[]> {
  return db.tenant(org_id, (query) => readTokenIssuers(query, org_id));
}

/** Replaces all fields of an issuer. Faults: those of addTokenIssuer, not_found. */
export async function replaceTokenIssuer(
  runtime: Changing,
  caller: KnownCaller,
  issuer_id: string,
  input: TokenIssuerInput,
): Promise<TokenIssuer> {
  return write(runtime, caller, input, issuer_id);
}

/** Removes an issuer. No later commit uses its tokens. Faults: not_found, those of refuseEnded. */
export async function removeTokenIssuer(
  { db, clock, ids }: Recording,
  caller: KnownCaller,
  issuer_id: string,
): Promise<void> {
  const { org_id, actor } = caller;
  const at = formatTimestampUs(clock.now_us());
  await db.tenant(org_id, (query) =>
    withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      const known = (await readTokenIssuers(query, org_id)).find((each) => each.issuer_id === issuer_id);
      if (known === undefined) throw new Fault("not_found");
      await deleteTokenIssuer(query, org_id, issuer_id);
      const entry = {
        intent_id: null,
        at,
        actor,
        type: "token_issuer_removed",
        data: { token_issuer: known },
      } as const;
      return { raise: ["policy"], audit: [auditRow(ids, entry)] };
    }),
  );
}

async function write(
  { db, clock, ids, httpOut }: Changing,
  caller: KnownCaller,
  input: TokenIssuerInput,
  replaced: string | null,
): Promise<TokenIssuer> {
  refuseWrongChoices(input);
  const jwks_url = input.jwks_url === undefined ? null : await acceptedUrl(httpOut, input.jwks_url);
  const { org_id, actor } = caller;
  const created_at = formatTimestampUs(clock.now_us());
  const token_issuer: TokenIssuer = {
    issuer_id: replaced ?? ids.next("token_issuer"),
    issuer: input.issuer ?? null,
    trust_domain: input.trust_domain ?? null,
    jwks_url,
    jwks: input.jwks ?? null,
    audience: input.audience,
    algorithms: input.algorithms ?? [...tokenAlgorithms],
    claims: input.claims ?? {},
    leeway_seconds: input.leeway_seconds ?? limits.token_leeway_seconds_default,
    created_at,
  };
  await db.tenant(org_id, (query) =>
    withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      const known = await readTokenIssuers(query, org_id);
      if (replaced !== null && !known.some(({ issuer_id }) => issuer_id === replaced)) throw new Fault("not_found");
      const others = known.filter(({ issuer_id }) => issuer_id !== replaced);
      refuseKnown(others, token_issuer);
      await writeTokenIssuer(query, org_id, token_issuer);
      const type = replaced === null ? "token_issuer_added" : "token_issuer_replaced";
      const entry = { intent_id: null, at: created_at, actor, type, data: { token_issuer } } as const;
      return { raise: ["policy"], audit: [auditRow(ids, entry)] };
    }),
  );
  return token_issuer;
}

function refuseWrongChoices({ issuer, trust_domain, jwks_url, jwks, claims = {} }: TokenIssuerInput): void {
  if ((issuer === undefined) === (trust_domain === undefined))
    throw faultAt("invalid_request", "/issuer", "not_allowed", "Give exactly one of issuer and trust_domain.");
  if ((jwks_url === undefined) === (jwks === undefined))
    throw faultAt("invalid_request", "/jwks_url", "not_allowed", "Give exactly one of jwks_url and jwks.");
  for (const fact of ["delegation_chain", "token_issuer"])
    if (Object.hasOwn(claims, fact))
      throw faultAt(
        "invalid_request",
        `/claims/${fact}`,
        "not_allowed",
        "Leave this out. Every token gives this fact.",
      );
  if (jwks !== undefined) refuseUnfitKeys(jwks);
}

/** Refuses a second issuer of one name, because its keys would be ambiguous. Faults: already_exists. */
function refuseKnown(others: readonly TokenIssuer[], { issuer, trust_domain }: TokenIssuer): void {
  const { token_issuers_per_organization_max } = limits;
  if (others.length >= token_issuers_per_organization_max) {
    const message = `An organization has at most ${token_issuers_per_organization_max} token issuers. Remove one first.`;
    throw faultAt("already_exists", "", "not_allowed", message);
  }
  const same = others.find((each) => each.issuer === issuer && each.trust_domain === trust_domain);
  if (same === undefined) return;
  const path = issuer === null ? "/trust_domain" : "/issuer";
  throw faultAt("already_exists", path, "already_exists", `${same.issuer_id} is this issuer. Replace it instead.`);
}
