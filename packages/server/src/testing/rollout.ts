/** An organization with a planned rollout, twelve registered agents, and a rule that blocks payments above 100. */
import { isEnforced, type StageCounts } from "@countersign/core";
import { watchRollouts } from "../operations/rollouts/watch-rollouts.ts";
import type { Runtime } from "../operations/runtime.ts";
import type { Database } from "../store/database/db.ts";
import { call, testOrganization } from "./nodes/http-node.ts";

/** With it, three of the twelve agents are in a share of 0.3. With a random one, one organization in 72 has none there. */
const known_salt = "2".repeat(32);

/** Two stages that are complete at once. */
export const twoStages = [
  { share: 0.3, decisions_min: 0, hours_min: 0 },
  { share: 1, decisions_min: 0, hours_min: 0 },
];

type Counted = Partial<Pick<StageCounts, "decisions" | "holds" | "blocks">>;

const large = {
  match: { verbs: ["pay"] },
  when: "params.amount > 100",
  effect: "block",
  message: "A large payment.",
};

export async function rolloutOrganization(
  db: Database,
  { url, runtime }: { readonly url: string; readonly runtime: Runtime },
  plan: object = { stages: twoStages },
) {
  const org = await testOrganization(db);
  const { api_key: key } = await org.key();
  const ask = (method: string, path: string, body?: unknown, with_key = key) =>
    call(url, method, `/v1${path}`, { key: with_key, ...(body === undefined ? {} : { body }) });
  const [{ membrane_id }] = (await ask("GET", "/membranes")).json.membranes;
  await ask("PATCH", `/membranes/${membrane_id}`, { packs: [] });
  const rule = async (name: string, spec: object): Promise<void> => {
    const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name }, spec };
    const saved = await ask("POST", "/policies", { policy });
    const activated = await ask("POST", `/policies/${saved.json.policy?.policy_id}/activate`, { mode: "live" });
    if (activated.status !== 200) throw new Error(saved.text + activated.text);
  };
  await rule("large-payments", large);
  const of = `/membranes/${membrane_id}`;
  const agents = Array.from({ length: 12 }, (_, at) => `bot-${at}`);
  for (const agent of agents) await ask("PUT", `/agents/${agent}`, {});
  const planned = await ask("PUT", `${of}/rollout`, plan);
  if (planned.status !== 200) throw new Error(planned.text);
  await db.query("update rollouts set salt = $2 where org_id = $1", [org.org_id, known_salt]);
  const bound = async (...agent_ids: string[]): Promise<string> => {
    const bindings = { membrane_ids: null, agent_ids, source_cidrs: null, forbid_shadow: false };
    return (await org.key({ role: "agent", bindings })).api_key;
  };
  const submit = async (verb: string, agent: string, with_key: string, amount = 500) => {
    const intent = { agent: { id: agent }, action: { verb }, payload: { content: { amount } } };
    return (await ask("POST", "/intents", { intent }, with_key)).json.decision;
  };
  return {
    ...{ ...org, key, ask, agents, bound, rule, submit, membrane_id: membrane_id as string, newKey: org.key },
    /** Returns an agent that this share enforces, or does not. */
    place(share: number, enforced: boolean): string {
      const found = agents.find((agent) => isEnforced(agent, known_salt, share) === enforced);
      if (found === undefined) throw new Error(`No agent has this place in a share of ${share}.`);
      return found;
    },
    act: (step: string, body: object = {}, with_key = key) => ask("POST", `${of}/rollout/${step}`, body, with_key),
    move: (step: string) => ask("POST", `${of}/${step}`, step === "go-live" ? {} : { reason: "A test." }),
    plan: (body: object) => ask("PUT", `${of}/rollout`, body),
    remove: () => ask("DELETE", `${of}/rollout`),
    rollout: async () => (await ask("GET", `${of}/rollout`)).json.rollout,
    pay: (agent: string, with_key: string) => submit("pay", agent, with_key),
    watch: () => watchRollouts(runtime, () => false),
    records: async (type: string) =>
      (await ask("GET", `/audit?type=${type}`)).json.audit.map(({ data }: { data: object }) => data),
    /** The next look of the guard finds these figures more, in the stage and in the run. */
    addCounts: (stage: Counted, run = stage) =>
      db.query("update rollouts set counted_before = $2::json, run_before = $3::json where org_id = $1", [
        org.org_id,
        ...[stage, run].map(({ decisions = 0, holds = 0, blocks = 0 }) =>
          JSON.stringify({ decisions: -decisions, holds: -holds, blocks: -blocks }),
        ),
      ]),
  };
}
