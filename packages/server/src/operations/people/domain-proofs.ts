/**
 * Proves that a domain belongs to an organization, by its TXT record. Organizations with people there learn of
 * another's claim.
 */
import { domain_record_label, domain_record_prefix } from "@countersign/contract";
import { faultAt, formatTimestampUs } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { listPeople } from "../../store/people/people.ts";
import {
  type DomainClaim,
  endClaim,
  noteProven,
  takeClaimsToCheck,
  toldOfConflict,
} from "../../store/people/single-sign-on.ts";
import type { Runtime } from "../runtime.ts";
import { writeMail } from "./mail.ts";

export type DomainChecking = Pick<Runtime, "db" | "clock" | "ids" | "sealer" | "mails" | "txtRecords">;

const claims_at_once = 20;
/** How long a claim stays valid after its last proof while name servers do not answer. */
const unanswered_seconds_max = 3 * 86_400;
const told_admins_max = 100;

async function isProven(
  { txtRecords }: Pick<Runtime, "txtRecords">,
  { org_id, domain }: DomainClaim,
): Promise<boolean | null> {
  const texts = await txtRecords.read(`${domain_record_label}.${domain}`);
  return texts === null ? null : texts.some((text) => text.trim() === `${domain_record_prefix}${org_id}`);
}

export async function refuseUnproven(
  runtime: Pick<Runtime, "txtRecords">,
  org_id: string,
  domains: readonly string[],
): Promise<void> {
  const proofs = await Promise.all(domains.map((domain) => isProven(runtime, { org_id, domain })));
  for (const [index, domain] of domains.entries()) {
    if (proofs[index] === true) continue;
    const found = proofs[index] === null ? "The name servers gave no answer" : "This domain is not proven to be yours";
    const todo = `add the TXT record ${domain_record_label}.${domain} with the text ${domain_record_prefix}${org_id}, then save again.`;
    throw faultAt("state_conflict", `/email_domains/${index}`, "not_proven", `${found}: ${todo}`);
  }
}

export async function checkDomains(runtime: DomainChecking): Promise<boolean> {
  const claims = await runtime.db.system((query) => takeClaimsToCheck(query, claims_at_once));
  await Promise.all(claims.map((claim) => checkDomain(runtime, claim)));
  return claims.length === claims_at_once;
}

async function checkDomain(runtime: DomainChecking, claim: DomainClaim): Promise<void> {
  const proven = await isProven(runtime, claim);
  if (proven) return runtime.db.system((query) => noteProven(query, claim));
  const { org_id, domain } = claim;
  await runtime.db.system(async (query) => {
    await withHead(query, org_id, async () => {
      if (!(await endClaim(query, claim, proven === null ? unanswered_seconds_max : 0))) return null;
      await tellAdmins(runtime, query, claim, "ended");
      const at = formatTimestampUs(runtime.clock.now_us());
      const entry = { intent_id: null, at, actor: "system", type: "sso_domain_ended", data: { domain } } as const;
      return { audit: [auditRow(runtime.ids, entry)] };
    });
  });
  runtime.mails.wake();
}

/**
 * Reports to an organization, in its trail and by mail to its admins, that `claimed_by` signs in people of a domain in
 * which the organization has people or an invitation. At most once a day per domain.
 */
export async function tellConflict(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "sealer" | "mails">,
  met: DomainClaim,
  claimed_by: string,
): Promise<void> {
  const { org_id, domain } = met;
  await runtime.db.system(async (query) => {
    await withHead(query, org_id, async () => {
      if (await toldOfConflict(query, met)) return null;
      await tellAdmins(runtime, query, met, "conflict");
      const at = formatTimestampUs(runtime.clock.now_us());
      const data = { domain, claimed_by };
      return {
        audit: [auditRow(runtime.ids, { intent_id: null, at, actor: "system", type: "sso_conflict", data })],
      };
    });
  });
  runtime.mails.wake();
}

async function tellAdmins(
  runtime: Pick<Runtime, "ids" | "sealer">,
  query: Query,
  { org_id, domain }: DomainClaim,
  event: "conflict" | "ended",
): Promise<void> {
  for (const { email: to } of await listPeople(query, org_id, "admin", told_admins_max, null))
    await writeMail(runtime, query, "domain", { to, domain, event });
}
