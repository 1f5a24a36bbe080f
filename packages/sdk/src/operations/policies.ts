import type {
  Backtest,
  BacktestInput,
  BacktestProgress,
  Pack,
  Policy,
  PolicyActivated,
  PolicyCheck,
  PolicyInput,
  PolicySaved,
  PolicyVersion,
} from "@countersign/contract";
import { newIdempotencyKey } from "../idempotency-key.ts";
import type { Page, PageQuery } from "../page.ts";
import type { CallOptions, Transport } from "../transport.ts";

/** The methods on policies and packs. Source: api.md §10. */
export function policyCalls(call: Transport) {
  const one = async (method: string, path: string, options: CallOptions = {}) =>
    (await call<{ policy: Policy }>(method, `/v1/policies${path}`, options)).policy;
  const id = (policy_id: string) => `/${encodeURIComponent(policy_id)}`;
  const save = (method: string, path: string, options: CallOptions) =>
    flat(call<PolicySaved>(method, `/v1/policies${path}`, options));

  return {
    /**
     * Saves version 1 of a new policy, as a draft. Its `diagnostics` are the red ones of the policy's own tests: they refuse
     * activation.
     */
    createPolicy: (input: PolicyInput) => save("POST", "", { body: input, idempotency_key: newIdempotencyKey() }),

    /** Policies in their newest versions, newest first. */
    listPolicies: (query: PageQuery & { readonly status?: Policy["status"] } = {}) =>
      call<Page<"policies", Policy>>("GET", "/v1/policies", { query: { ...query } }),

    /** A policy in its newest version; `active_version` is null while none is in force. */
    getPolicy: (policy_id: string) => one("GET", id(policy_id)),

    /** Every version of a policy, newest first. */
    listPolicyVersions: (policy_id: string, query: PageQuery = {}) =>
      call<Page<"versions", PolicyVersion>>("GET", `/v1/policies${id(policy_id)}/versions`, { query: { ...query } }),

    /** Saves a new version; what is in force stays in force until it is activated. `diagnostics` as of `createPolicy`. */
    replacePolicy: (policy_id: string, input: PolicyInput) => save("PUT", id(policy_id), { body: input }),

    /**
     * Puts the newest version in force, or in shadow: evaluated and reported, never enforced. With `version` only where
     * that one is the newest. Its `warnings` say that policies can exhaust the budget of a decision together.
     */
    activatePolicy: (policy_id: string, mode: "live" | "shadow", version?: number) =>
      flat(call<PolicyActivated>("POST", `/v1/policies${id(policy_id)}/activate`, { body: { mode, version } })),

    /** Takes a policy out of force for good. */
    retirePolicy: (policy_id: string) => one("POST", `${id(policy_id)}/retire`),

    /** The diagnostics of a document, without saving it. */
    checkPolicy: (input: PolicyInput) => call<PolicyCheck>("POST", "/v1/policies/check", { body: input }),

    /** The JSON Schema of the policy document. */
    getPolicySchema: () => call<Record<string, unknown>>("GET", "/v1/policies/schema"),

    /** The packs of this version of the service. */
    listPacks: (query: PageQuery = {}) => call<Page<"packs", Pack>>("GET", "/v1/packs", { query: { ...query } }),

    /**
     * Decides recorded intents again with a candidate. It may take a minute; `on_progress` hears how far it is, and
     * aborting `signal` cancels it, and so does what `on_progress` throws.
     */
    backtest: async (
      input: BacktestInput,
      {
        on_progress,
        signal,
      }: { readonly on_progress?: (progress: BacktestProgress) => void; readonly signal?: AbortSignal } = {},
    ) => {
      const onLine = (line: unknown) => {
        const { progress } = line as { readonly progress?: BacktestProgress };
        if (progress !== undefined) on_progress?.(progress);
      };
      const options = { body: input, repeatable: true, signal, onLine };
      return (await call<{ backtest: Backtest }>("POST", "/v1/learning/backtest", options)).backtest;
    },

    /** A pack with its rules and their citations. */
    getPack: async (name: string) => (await call<{ pack: Pack }>("GET", `/v1/packs/${encodeURIComponent(name)}`)).pack,
  };
}

/** Puts what an answer has beside the policy among the policy's own members. */
async function flat<A extends PolicySaved | PolicyActivated>(answer: Promise<A>) {
  const { policy, ...beside } = await answer;
  return { ...policy, ...beside };
}
