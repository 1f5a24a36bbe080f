/** Applies a request's Agent-Token to one decision, by the membrane's terms. Source: docs/decisions/0044. */
import { type Membrane, type TokenProblem, tokenProblems, verifiedFacts } from "@countersign/contract";
import {
  type ContextSource,
  canonicalJson,
  type Fault,
  faultAt,
  formatTimestampUs,
  sha256Hex,
} from "@countersign/core";
import type { IdempotencyRow } from "../../store/commit/commit-writer-rows.ts";
import { type TokenUse, useToken } from "../../store/tokens/used-tokens.ts";
import type { Runtime } from "../runtime.ts";
import type { CheckedToken, OrgState, ProvedToken } from "../shared/node-services.ts";

export interface PresentedToken {
  /** Checks the token once per list of issuers. */
  check(state: OrgState): Promise<CheckedToken>;
  use(proved: ProvedToken): Promise<boolean>;
}

/** The facts of a token, or the fault that refuses the request, with the facts without a token. */
export interface TokenOutcome {
  readonly facts: ContextSource | null;
  readonly refusal: Fault | null;
}

/** `used_by`: a hash that only repetitions of this request share. Null: no Agent-Token header. */
export function presentedToken(
  { db, agentTokens }: Pick<Runtime, "db" | "agentTokens">,
  org_id: string,
  token: string | undefined,
  used_by: string,
): PresentedToken | null {
  if (token === undefined) return null;
  let checked: { readonly state: OrgState; readonly result: Promise<CheckedToken> } | null = null;
  let used: Promise<boolean> | null = null;
  const use = async ({ id_sha256, expires_us }: ProvedToken): Promise<boolean> => {
    if (id_sha256 === null) return false;
    const row: TokenUse = { token_sha256: id_sha256, used_by, expires_at: formatTimestampUs(expires_us) };
    return db.tenant(org_id, (query) => useToken(query, org_id, row));
  };
  return {
    check(state) {
      if (checked?.state !== state)
        checked = {
          state,
          result: state.tokenIssuers().then((issuers) => agentTokens.check(org_id, issuers, token)),
        };
      return checked.result;
    },
    use: (proved) => (used ??= use(proved)),
  };
}

export function requestHash({ ids }: Pick<Runtime, "ids">, idempotency: IdempotencyRow | null): string {
  return sha256Hex(idempotency === null ? ids.next("request") : canonicalJson({ ...idempotency }));
}

/** Checks the token by the membrane's terms. Uses up a single-use token before the decision commits. */
export async function tokenOutcome(
  presented: PresentedToken | null,
  state: OrgState,
  { agent_token }: Pick<Membrane, "agent_token">,
  now_us: number,
): Promise<TokenOutcome> {
  if (presented === null && !agent_token.required) return { facts: null, refusal: null };
  const checked = presented === null ? ({ problem: "missing" } as const) : await presented.check(state);
  const invalid = (problem: TokenProblem) => invalidToken(problem, state, agent_token, now_us);
  if ("problem" in checked) return invalid(checked.problem);
  if (agent_token.once && !(await presented?.use(checked.proved))) return invalid("replayed");
  const { agent_id, chain, issuer, facts: more } = checked.proved;
  const values = { ...more, authenticated_agent_id: agent_id, delegation_chain: chain, token_issuer: issuer };
  return { facts: { source: "token", document: { facts: { identity: values } }, received_us: now_us }, refusal: null };
}

/** Without a valid token, all facts that tokens could give are unknown. */
async function invalidToken(
  problem: TokenProblem,
  state: OrgState,
  { on_invalid }: Membrane["agent_token"],
  now_us: number,
): Promise<TokenOutcome> {
  const document = { facts: { identity: {} } };
  const issuers = await state.tokenIssuers();
  const identity = [...new Set([...verifiedFacts, ...issuers.flatMap(({ claims }) => Object.keys(claims))])];
  const facts = { source: "token", document, received_us: now_us, unproved: { identity } } as const;
  return { facts, refusal: on_invalid === "unknown" ? null : refusalOf(problem) };
}

/** Unreachable keys prove nothing, so the client may retry. */
function refusalOf(problem: TokenProblem): Fault {
  const code = problem === "keys_unreachable" ? "unavailable" : "invalid_agent_token";
  return faultAt(code, "/Agent-Token", problem, tokenProblems[problem]);
}
