import type { ProblemCode, SingleSignOn, SingleSignOnInput } from "@countersign/contract";
import { Fault, faultAt, formatTimestampUs } from "@countersign/core";
import type { OpenIdProvider } from "../../sign-in-ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import {
  type DomainClaim,
  deleteSingleSignOn,
  otherOrganizationsIn,
  readSingleSignOn,
  type StoredSingleSignOn,
  writeSingleSignOn,
} from "../../store/people/single-sign-on.ts";
import type { Recording, Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { type KnownCaller, refuseEnded } from "./caller-ended.ts";
import { type DomainChecking, refuseUnproven, tellConflict } from "./domain-proofs.ts";
import { newToken } from "./session.ts";

/**
 * Returns the redirect address, different for each organization, so that one provider's code never reaches another.
 * Source: RFC 9700, section 4.4.2.
 */
export function redirectUri({ settings }: Pick<Runtime, "settings">, org_id: string): string {
  return `${settings.public_url()}/sso/callback/${org_id}`;
}

export function providerOf({ sealer }: Pick<Runtime, "sealer">, row: StoredSingleSignOn): OpenIdProvider {
  const { org_id, issuer, client_id, secret_sealed } = row;
  return { issuer, client_id, client_secret: sealer.open(secret_sealed, clientSecretContext(org_id)) };
}

/**
 * Replaces the provider. A secret is sent only to the issuer for which it was given. Faults: invalid_request (an
 * unreadable issuer, a missing secret), state_conflict (a domain that is unproven, or where another organization has
 * people or an invitation).
 */
export async function putSingleSignOn(
  runtime: DomainChecking & Pick<Runtime, "httpOut" | "openId" | "settings">,
  caller: KnownCaller,
  input: SingleSignOnInput,
): Promise<SingleSignOn> {
  const { org_id, actor } = caller;
  const { client_id, default_role } = input;
  const email_domains = [...new Set(input.email_domains.map((each) => each.toLowerCase()))];
  const issuer = await acceptedIssuer(runtime, input.issuer);
  const known = await runtime.db.tenant(org_id, (query) => readSingleSignOn(query, org_id));
  const same = known?.issuer === issuer && known.client_id === client_id;
  const client_secret = input.client_secret ?? (same ? providerOf(runtime, known).client_secret : undefined);
  if (client_secret === undefined)
    throw invalid("/client_secret", "required", "Give the secret of this client at this issuer.");
  await tryProvider(runtime, org_id, { issuer, client_id, client_secret });
  await refuseUnproven(runtime, org_id, email_domains);

  const updated_at = formatTimestampUs(runtime.clock.now_us());
  const secret_sealed = runtime.sealer.seal(client_secret, clientSecretContext(org_id));
  const row = { org_id, issuer, client_id, secret_sealed, email_domains, default_role, updated_at };
  let others: readonly DomainClaim[] = [];
  await runtime.db.system(async (query) => {
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      // Later invitations by others do not affect a domain that this organization already has.
      const held = (await readSingleSignOn(query, org_id))?.email_domains ?? [];
      const claimed = email_domains.filter((domain) => !held.includes(domain));
      others = await otherOrganizationsIn(query, org_id, claimed);
      if (others.length > 0) return null;
      await writeSingleSignOn(query, row);
      const data = { issuer, client_id, email_domains, default_role };
      const entry = { intent_id: null, at: updated_at, actor, type: "sso_configured" } as const;
      return { audit: [auditRow(runtime.ids, { ...entry, data })] };
    });
  });
  for (const other of others) await tellConflict(runtime, other, org_id);
  const [met] = others;
  if (met !== undefined) throw domainTaken(met);
  return shown(runtime, row);
}

export async function getSingleSignOn(
  runtime: Pick<Runtime, "db" | "settings">,
  { org_id }: Pick<Caller, "org_id">,
): Promise<SingleSignOn> {
  const row = await runtime.db.tenant(org_id, (query) => readSingleSignOn(query, org_id));
  if (row === undefined) throw new Fault("not_found");
  return shown(runtime, row);
}

/** Removes the provider. No later login begins or finishes with it. Faults: not_found, those of refuseEnded. */
export async function removeSingleSignOn(runtime: Recording, caller: KnownCaller): Promise<void> {
  const { org_id, actor } = caller;
  const at = formatTimestampUs(runtime.clock.now_us());
  await runtime.db.system(async (query) => {
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      if (!(await deleteSingleSignOn(query, org_id))) throw new Fault("not_found");
      return { audit: [auditRow(runtime.ids, { intent_id: null, at, actor, type: "sso_removed", data: {} })] };
    });
  });
}

async function acceptedIssuer({ httpOut }: Pick<Runtime, "httpOut">, given: string): Promise<string> {
  const verdict = await httpOut.check(given);
  if ("refused" in verdict) throw invalid("/issuer", "not_allowed", verdict.refused);
  const { search, hash } = new URL(verdict.href);
  if (search !== "" || hash !== "") throw invalid("/issuer", "bad_format", "An issuer has no query and no fragment.");
  return verdict.href;
}

async function tryProvider(
  runtime: Pick<Runtime, "ids" | "settings" | "openId">,
  org_id: string,
  provider: OpenIdProvider,
): Promise<void> {
  const login = { state: newToken(runtime), nonce: newToken(runtime), code_verifier: newToken(runtime) };
  const answer = await runtime.openId.begin(provider, login, redirectUri(runtime, org_id), null);
  if ("failed" in answer) throw invalid("/issuer", "not_allowed", answer.text);
}

function shown(runtime: Pick<Runtime, "settings">, row: StoredSingleSignOn): SingleSignOn {
  const { org_id, issuer, client_id, email_domains, default_role, updated_at } = row;
  const login_url = `${runtime.settings.public_url()}/login?org_id=${org_id}`;
  const shown = { issuer, client_id, email_domains: [...email_domains], default_role, updated_at };
  return { ...shown, redirect_uri: redirectUri(runtime, org_id), login_url };
}

/** Sealing context, so that the secret opens only for this organization's provider. */
export function clientSecretContext(org_id: string): string {
  return `${org_id} single_sign_on client_secret`;
}

function domainTaken({ domain }: DomainClaim): Fault {
  const message = `Another organization has people or an open invitation under ${domain}. Its admins got a mail.`;
  return faultAt("state_conflict", "/email_domains", "domain_taken", message);
}

function invalid(path: string, code: ProblemCode, message: string): Fault {
  return faultAt("invalid_request", path, code, message);
}
