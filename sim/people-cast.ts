/** Who takes part in the people's world: one organization, its reviewers, its agents and its membranes. */
import type { Membrane } from "@countersign/contract";
import { insertNewKey } from "../packages/server/src/operations/keys/create-key.ts";
import { membraneDefaults } from "../packages/server/src/operations/membranes/membranes.ts";
import { createOrganization } from "../packages/server/src/operations/organizations/create-organization.ts";
import type { Runtime } from "../packages/server/src/operations/runtime.ts";
import type { Caller } from "../packages/server/src/operations/shared/caller.ts";
import type { Db, Query } from "../packages/server/src/ports.ts";
import { insertMembrane } from "../packages/server/src/store/membranes/membranes.ts";
import type { Random } from "./random.ts";

/** Everybody in the world, and the membranes. */
export interface Cast {
  readonly org_id: string;
  readonly people: readonly Caller[];
  /** Created the agents' keys, so it is the same person, and may not decide on their actions. */
  readonly creator: Caller;
  /** A key made with the live agent's key, so it may not override the blocks of that agent. */
  readonly offspring: Caller;
  readonly agents: Readonly<Record<"live" | "test", Caller>>;
  /** Escalates with a quorum of one; escalates with a quorum of two; blocks. */
  readonly membranes: readonly [string, string, string];
}

/** Makes the organization, its keys and its membranes. */
export async function prepareCast(db: Db, runtime: Runtime, random: Random): Promise<Cast> {
  const org_id = runtime.ids.next("organization");
  const membrane_ids = [0, 1, 2].map(() => runtime.ids.next("membrane")) as [string, string, string];
  return db.system(async (query) => {
    await createOrganization(runtime, query, { org_id, name: "sim", email: null, description: "sim", actor: "system" });
    for (const [n, membrane_id] of membrane_ids.entries()) {
      const on_timeout = random.pick(["block", "approve"] as const);
      await insertMembrane(query, org_id, membraneOf(n, membrane_id, on_timeout));
    }
    const key = (role: Caller["role"], created_by: string | null, environment: "live" | "test" = "live") =>
      insertKey(runtime, query, org_id, { role, created_by, environment });
    const creator = await key("admin", null);
    const agents = { live: await key("agent", creator.key_id), test: await key("agent", creator.key_id, "test") };
    const offspring = await key("operator", agents.live.key_id);
    const people = [
      await key("operator", null),
      await key("operator", null),
      await key("admin", null),
      await key("operator", null),
    ];
    await query("update org_heads set webhooks = 1 where org_id = $1", [org_id]);
    return { org_id, people, creator, offspring, agents, membranes: membrane_ids };
  });
}

/** The first membrane escalates to one person, the second to two. The third blocks, and one person may override that. */
function membraneOf(n: number, membrane_id: string, on_timeout: "block" | "approve"): Membrane {
  const about = {
    membrane_id,
    name: `m${n}`,
    status: "live",
    is_default: false,
    created_at: "2026-11-21T00:00:00.000000Z",
  } as const;
  return {
    ...structuredClone(membraneDefaults),
    ...about,
    packs: [],
    default_verdict: n === 2 ? "block" : "escalate",
    escalation: { timeout_seconds: 3_600, on_timeout, reviewers: [], quorum: n === 1 ? 2 : 1 },
  };
}

async function insertKey(
  runtime: Runtime,
  query: Query,
  org_id: string,
  { role, created_by, environment }: Pick<Caller, "role"> & { created_by: string | null; environment: "live" | "test" },
): Promise<Caller> {
  const usual = { org_id, name: null, scope: "org", agent_id: null, actor: "system" } as const;
  const { key_id } = await insertNewKey(runtime, query, { ...usual, environment, role, created_by });
  return {
    ...{ org_id, key_id, user_id: null, session_id: null, lineage_id: key_id, role },
    ...{ scope: "org", agent_id: null, bindings: null, environment, actor: key_id, auth_epoch: 0 },
  };
}
