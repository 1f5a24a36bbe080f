import type {
  Backtest,
  BacktestInput,
  BacktestProgress,
  FiredRules,
  KeptBacktest,
  ListedBacktest,
  Pack,
  Policy,
  PolicyActivated,
  PolicyCheck,
  PolicyInput,
  PolicyReadiness,
  PolicySaved,
  PolicyVersion,
} from "@countersign/contract";
import { newIdempotencyKey } from "../idempotency-key.ts";
import type { Page, PageQuery } from "../page.ts";
import type { CallOptions, Transport } from "../transport.ts";

export function policyCalls(call: Transport) {
  const one = async (method: string, path: string, options: CallOptions = {}) =>
    (await call<{ policy: Policy }>(method, `/v1/policies${path}`, options)).policy;
  const id = (policy_id: string) => `/${encodeURIComponent(policy_id)}`;
  const save = (method: string, path: string, options: CallOptions) =>
    flat(call<PolicySaved>(method, `/v1/policies${path}`, options));

  return {
    /** Saves version 1 of a new policy as a draft. `diagnostics` are failed tests, which prevent activation. */
    createPolicy: (input: PolicyInput) => save("POST", "", { body: input, idempotency_key: newIdempotencyKey() }),

    /** Lists policies in their newest versions, newest first. */
    listPolicies: (query: PageQuery & { readonly status?: Policy["status"] } = {}) =>
      call<Page<"policies", Policy>>("GET", "/v1/policies", { query: { ...query } }),

    /** Returns the newest version. `active_version` is null while none is in force. */
    getPolicy: (policy_id: string) => one("GET", id(policy_id)),

    /** Lists the versions of a policy, newest first. */
    listPolicyVersions: (policy_id: string, query: PageQuery = {}) =>
      call<Page<"versions", PolicyVersion>>("GET", `/v1/policies${id(policy_id)}/versions`, { query: { ...query } }),

    /** Saves a new version. The active one stays in force until you activate the new one. See `createPolicy`. */
    replacePolicy: (policy_id: string, input: PolicyInput) => save("PUT", id(policy_id), { body: input }),

    /**
     * Puts the newest version in force, or in shadow mode: evaluated and reported, never enforced. With `version`, only
     * if that one is the newest. `warnings` report that policies together can exhaust the budget of a decision.
     * `not_ready` says why the version was not ready to be live.
     */
    activatePolicy: (policy_id: string, mode: "live" | "shadow", version?: number) =>
      flat(call<PolicyActivated>("POST", `/v1/policies${id(policy_id)}/activate`, { body: { mode, version } })),

    /** Returns whether a version is ready to be live, by its newest kept backtest. Without `version`: the newest. */
    getPolicyReadiness: async (policy_id: string, version?: number) =>
      (
        await call<{ readiness: PolicyReadiness }>("GET", `/v1/policies${id(policy_id)}/readiness`, {
          query: version === undefined ? {} : { version },
        })
      ).readiness,

    /** Counts how often each rule fired in the last 7 days. */
    getFiredRules: async () => (await call<{ fired: FiredRules }>("GET", "/v1/policies/fired")).fired,

    /** Takes a policy out of force permanently. */
    retirePolicy: (policy_id: string) => one("POST", `${id(policy_id)}/retire`),

    /** Returns the diagnostics of a document, without saving it. */
    checkPolicy: (input: PolicyInput) => call<PolicyCheck>("POST", "/v1/policies/check", { body: input }),

    getPolicySchema: () => call<Record<string, unknown>>("GET", "/v1/policies/schema"),

    /** Lists the packs of this version of the service. */
    listPacks: (query: PageQuery = {}) => call<Page<"packs", Pack>>("GET", "/v1/packs", { query: { ...query } }),

    /** Returns a pack with its rules and their citations. */
    getPack: async (name: string) => (await call<{ pack: Pack }>("GET", `/v1/packs/${encodeURIComponent(name)}`)).pack,

    ...backtestCalls(call),
  };
}

function backtestCalls(call: Transport) {
  return {
    /**
     * Decides recorded intents again with a candidate, which may take a minute. An aborted `signal` or an error of
     * `on_progress` cancels the backtest.
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

    /** Lists kept backtests, newest first. */
    listBacktests: (query: PageQuery = {}) =>
      call<Page<"backtests", ListedBacktest>>("GET", "/v1/backtests", { query: { ...query } }),

    /** Returns a kept backtest with its request and result. */
    getBacktest: async (backtest_id: string) =>
      (await call<{ backtest: KeptBacktest }>("GET", `/v1/backtests/${encodeURIComponent(backtest_id)}`)).backtest,
  };
}

/** Moves the other members of an answer into the policy. */
async function flat<A extends PolicySaved | PolicyActivated>(answer: Promise<A>) {
  const { policy, ...beside } = await answer;
  return { ...policy, ...beside };
}
