import { limits, type SingleSignOnBegin, type SingleSignOnFinish } from "@countersign/contract";
import { equalInConstantTime, Fault, faultAt, formatTimestampUs } from "@countersign/core";
import type { Query } from "../../ports.ts";
import type { OpenIdFailure, OpenIdLogin, OpenIdPerson } from "../../sign-in-ports.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { emailDomain, findPerson, lockPerson, type Person, wasRemoved } from "../../store/people/people.ts";
import { insertToken, takeToken } from "../../store/people/person-tokens.ts";
import {
  type DomainClaim,
  hasIdentity,
  organizationsOfDomain,
  readIdentity,
  readSingleSignOn,
  type StoredSingleSignOn,
  writeIdentity,
} from "../../store/people/single-sign-on.ts";
import type { Runtime } from "../runtime.ts";
import { tellConflict } from "./domain-proofs.ts";
import { inviteArrived } from "./invitations.ts";
import { setName } from "./people.ts";
import { type Begun, beginSession, type Client, newToken, tokenHash } from "./session.ts";
import { providerOf, redirectUri } from "./single-sign-on.ts";

interface Started extends OpenIdLogin {
  readonly browser: string;
  readonly issuer: string;
  readonly client_id: string;
}

/**
 * Returns the provider's URL and the text of the cookie that identifies the browser. Each login has its own cookie,
 * named by `state_sha256` (hex), so two tabs can sign in at once. Faults: invalid_request (not exactly one of the two),
 * not_found (no provider, or more than one), unavailable.
 */
export async function beginSingleSignOn(
  runtime: Pick<Runtime, "db" | "ids" | "settings" | "sealer" | "openId">,
  { email, org_id }: SingleSignOnBegin,
): Promise<{ readonly location: string; readonly state_sha256: string; readonly browser: string }> {
  if ((email === undefined) === (org_id === undefined)) {
    const message = "Give either an e-mail address or an organization.";
    throw faultAt("invalid_request", "", "not_allowed", message);
  }
  const row = await runtime.db.system((query) => findProvider(query, email, org_id));
  if (row === undefined) throw noProvider();
  const login = { state: newToken(runtime), nonce: newToken(runtime), code_verifier: newToken(runtime) };
  const browser = newToken(runtime);
  const redirect_uri = redirectUri(runtime, row.org_id);
  const answer = await runtime.openId.begin(providerOf(runtime, row), login, redirect_uri, email ?? null);
  if ("failed" in answer) throw unavailable(answer);

  const { issuer, client_id } = row;
  const state_sha256 = tokenHash(login.state);
  const started: Started = { ...login, browser: tokenHash(browser), issuer, client_id };
  const sealed = runtime.sealer.seal(JSON.stringify(started), startedContext(state_sha256));
  await runtime.db.system((query) => insertToken(query, "sso", state_sha256, row.org_id, { sealed }));
  return { location: answer.location, state_sha256, browser };
}

type Arrival = { readonly person: Person } | { readonly invited: string } | { readonly other: DomainClaim };

/**
 * Begins a session for the person whom the provider confirms, found by account or address. Others are invited, because
 * only the owner of a mailbox may join. A second factor is still required. `browserOf` reads the cookie of a login.
 * Faults: invalid_credentials (another browser or organization, expired, used, refused by the provider), forbidden (no
 * acceptable address, a removed person, or just invited), already_exists (a person of another organization, or the
 * maximum of people or invitations), unavailable.
 */
export async function finishSingleSignOn(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "sealer" | "openId" | "settings" | "mails">,
  { org_id, callback_query }: SingleSignOnFinish,
  browserOf: (state_sha256: string) => string | null,
  client: Client,
): Promise<Begun> {
  const state = new URLSearchParams(callback_query).get("state");
  const { row, started } = await takeStarted(runtime, org_id, state, browserOf);
  const callback = new URL(redirectUri(runtime, org_id));
  callback.search = callback_query;
  const vouched = await runtime.openId.finish(providerOf(runtime, row), started, callback.href);
  if ("failed" in vouched) {
    if (vouched.failed === "unreachable") throw unavailable(vouched);
    throw notThrough(vouched.text);
  }
  if (!subjectPattern.test(vouched.subject)) throw refused("The provider's subject for this account (sub) is invalid.");
  const arrived = await runtime.db.system(async (query) => {
    const arrival = await arrivalOf(runtime, query, row, vouched);
    if (!("person" in arrival)) return arrival;
    const person = await named(runtime, query, arrival.person, vouched);
    return beginSession(runtime, query, person, client, {
      mfa_pending: person.mfa_enabled,
      strong: !person.mfa_enabled && vouched.multi_factor,
    });
  });
  if ("session" in arrived) return arrived;
  runtime.mails.wake();
  if ("invited" in arrived) throw mailboxAsked(arrived);
  await tellConflict(runtime, arrived.other, org_id);
  throw elsewhere();
}

/** Gives a person without a name the one that the provider sent. */
async function named(
  runtime: Pick<Runtime, "clock" | "ids">,
  query: Query,
  person: Person,
  vouched: OpenIdPerson,
): Promise<Person> {
  const name = vouchedName(vouched);
  if (person.name !== null || name === null) return person;
  await setName(runtime, query, person, name, null);
  return { ...person, name };
}

/** Null: no name that a person could choose. */
function vouchedName({ name }: OpenIdPerson): string | null {
  const trimmed = name?.trim() ?? "";
  return trimmed === "" || trimmed.includes("@") || trimmed.length > limits.name_chars_max ? null : trimmed;
}

async function findProvider(
  query: Query,
  email: string | undefined,
  org_id: string | undefined,
): Promise<StoredSingleSignOn | undefined> {
  if (org_id !== undefined) return readSingleSignOn(query, org_id);
  const [found, ...others] = await organizationsOfDomain(query, emailDomain(email as string));
  return found === undefined || others.length > 0 ? undefined : readSingleSignOn(query, found);
}

async function takeStarted(
  runtime: Pick<Runtime, "db" | "sealer">,
  org_id: string,
  state: string | null,
  browserOf: (state_sha256: string) => string | null,
): Promise<{ row: StoredSingleSignOn; started: Started }> {
  if (state === null) throw notThrough();
  const state_sha256 = tokenHash(state);
  const browser = browserOf(state_sha256);
  const { token, row } = await runtime.db.system(async (query) => {
    const taken = await takeToken(query, "sso", state_sha256);
    return { token: taken, row: taken?.org_id == null ? undefined : await readSingleSignOn(query, taken.org_id) };
  });
  // The redirect address belongs to another organization, so another provider sent it.
  if (browser === null || token === undefined || row === undefined || row.org_id !== org_id) throw notThrough();
  const sealed = token.subject["sealed"] as string;
  const started = JSON.parse(runtime.sealer.open(sealed, startedContext(state_sha256))) as Started;
  const same = equalInConstantTime(Buffer.from(started.browser, "hex"), Buffer.from(tokenHash(browser), "hex"));
  if (!same || !sameClient(row, started)) throw notThrough();
  return { row, started };
}

const subjectPattern = /^[\x20-\x7e]{1,255}$/;
/** ASCII only, because lower case can merge different Unicode addresses (the Kelvin sign becomes k). */
const addressPattern = /^[!-?A-~]+@[!-?A-~]+$/;

function acceptedAddress({ email_domains }: StoredSingleSignOn, { email, email_verified }: OpenIdPerson): string {
  if (email === null || email.length > limits.email_chars_max || !addressPattern.test(email))
    throw refused("The provider sent no valid e-mail address.");
  if (!email_verified) throw refused("The provider has not verified the e-mail address (email_verified).");
  if (!email_domains.includes(emailDomain(email))) throw refused("Addresses of this domain may not sign in here.");
  return email;
}

/** Finds the person under the head's lock, or invites the address, so that concurrent first logins send one mail. */
async function arrivalOf(
  runtime: Pick<Runtime, "clock" | "ids" | "sealer">,
  query: Query,
  asked: StoredSingleSignOn,
  vouched: OpenIdPerson,
): Promise<Arrival> {
  const { org_id } = asked;
  const { subject } = vouched;
  const at = formatTimestampUs(runtime.clock.now_us());
  let arrival: Arrival | undefined;
  await lockVouchedFor(query, asked, subject, acceptedAddress(asked, vouched));
  await withHead(query, org_id, async () => {
    const row = await readSingleSignOn(query, org_id);
    if (row === undefined || !sameClient(row, asked)) throw notThrough();
    const { issuer, default_role: role } = row;
    const email = acceptedAddress(row, vouched);
    const known = await readIdentity(query, org_id, issuer, subject);
    const person = known === undefined ? undefined : await lockPerson(query, org_id, known);
    if (person !== undefined) {
      arrival = { person };
      return null;
    }
    const found = await findPerson(query, email);
    if (found !== undefined && found.org_id !== org_id) {
      arrival = { other: { org_id: found.org_id, domain: emailDomain(email) } };
      return null;
    }
    // Also by address, because the removed person may never have signed in at this provider.
    if (found === undefined && (known !== undefined || (await wasRemoved(query, org_id, email))))
      throw refused("This person was removed from the organization: an invitation brings them back.");
    if (found === undefined) {
      arrival = { invited: email };
      const name = vouchedName(vouched);
      const named = name === null ? {} : { name };
      return { audit: await inviteArrived(runtime, query, org_id, { email, role, ...named }) };
    }
    if (await hasIdentity(query, org_id, issuer, found.user_id))
      throw refused("This address belongs to another account of the provider.");
    await writeIdentity(query, { org_id, issuer, subject, user_id: found.user_id }, at);
    arrival = { person: found };
    return null;
  });
  if (arrival === undefined) throw new Error("the head's lock was held and nothing was done");
  return arrival;
}

/** Locks the probable person, because people are locked before the head. `arrivalOf` checks again under the head. */
async function lockVouchedFor(
  query: Query,
  { org_id, issuer }: StoredSingleSignOn,
  subject: string,
  email: string,
): Promise<void> {
  const known = await readIdentity(query, org_id, issuer, subject);
  if (known !== undefined && (await lockPerson(query, org_id, known)) !== undefined) return;
  const found = await findPerson(query, email);
  if (found !== undefined) await lockPerson(query, org_id, found.user_id);
}

type OfClient = Pick<StoredSingleSignOn, "issuer" | "client_id">;

function sameClient(a: OfClient, b: OfClient): boolean {
  return a.issuer === b.issuer && a.client_id === b.client_id;
}

export function startedContext(state_sha256: string): string {
  return `single_sign_on ${state_sha256}`;
}

function noProvider(): Fault {
  const message = "No organization, or more than one, has set up single sign-on for it.";
  return faultAt("not_found", "", "no_provider", message);
}

function notThrough(
  message = "The sign-in was begun in another browser or tab, was used already, or is too old.",
): Fault {
  return new Fault("invalid_credentials", { details: [{ path: "", code: "not_through", message }], internal: message });
}

function refused(message: string): Fault {
  return faultAt("forbidden", "", "not_vouched_for", message);
}

function elsewhere(): Fault {
  const message = "This address belongs to a person of another organization.";
  return faultAt("already_exists", "", "address_taken", message);
}

function mailboxAsked({ invited }: { readonly invited: string }): Fault {
  const message = `You are not a person of this organization yet. Follow the link in the mail to ${invited}, then sign in again.`;
  return faultAt("forbidden", "", "mailbox_asked", message);
}

function unavailable({ text }: OpenIdFailure): Fault {
  return faultAt("unavailable", "", "provider", text);
}
