import { type AgentInput, foldName, limits, type RegisteredAgent } from "@countersign/contract";
import { type Fault, faultAt, type Parents, registeredAbove } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { countWithParent, readAgent, readParents, writeAgent } from "../../store/agents/agents.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { changeHead, lockHead } from "../../store/organizations/heads.ts";
import { hasRollouts } from "../../store/rollouts/rollouts.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { countNewest } from "../figures/keep-figures.ts";
import { refuseEnded } from "../people/caller-ended.ts";
import { identityOf } from "../people/identity.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { demandCurrentKey, untilFresh } from "../shared/stale.ts";
import { withStatus } from "./read-agents.ts";

/**
 * Registers an agent, or replaces its entry. Every later commit uses the new parent. Faults: invalid_request (the
 * parent), state_conflict (too many agents with a parent), those of refuseEnded, unavailable.
 */
export async function registerAgent(
  runtime: Pick<Runtime, "db" | "ids" | "callers">,
  caller: Caller,
  agent_id: string,
  input: AgentInput,
): Promise<RegisteredAgent> {
  // Count first, so that a parent that has just acted is known.
  await countNewest(runtime.db, caller.org_id);
  return untilFresh(runtime, caller, (current) =>
    runtime.db.tenant(caller.org_id, (query) => write(runtime, query, current, agent_id, input)),
  );
}

async function write(
  runtime: Pick<Runtime, "ids">,
  query: Query,
  caller: Caller,
  agent_id: string,
  { owner = null, purpose = null, parent_id = null }: AgentInput,
): Promise<RegisteredAgent> {
  const { org_id, actor } = caller;
  const head = await lockHead(query, org_id);
  demandCurrentKey(head, caller);
  await refuseEnded(query, caller);
  const before = await readAgent(query, org_id, agent_id);
  const parent = parent_id === null ? null : await demandParent(query, org_id, agent_id, parent_id);
  if (parent !== null && before?.parent_id == null) await demandRoom(query, org_id);

  const { person } = await identityOf(query, org_id, caller.lineage_id);
  const at = await databaseNow(query);
  const entry = { agent_id: before?.agent_id ?? agent_id, owner, purpose, parent_id: parent };
  await writeAgent(query, org_id, { ...entry, registered_by: person, at });
  // A changed parent raises the policy epoch, so that decisions under the old one become stale.
  const moved = parent !== (before?.parent_id ?? null);
  // A rollout may not enforce an agent that is now registered.
  const rolled = before?.registered_at == null && (await hasRollouts(query, org_id));
  const audit = [auditRow(runtime.ids, { intent_id: null, at, actor, type: "agent_registered", data: entry })];
  await changeHead(query, head, { raise: moved || rolled ? ["policy"] : [], audit });
  const written = await readAgent(query, org_id, agent_id);
  if (written === undefined) throw new Error("the agent was not written");
  return (await withStatus(query, org_id, [written]))[0] as RegisteredAgent;
}

async function demandParent(query: Query, org_id: string, agent_id: string, parent_id: string): Promise<string> {
  const refuse = (message: string): Fault => faultAt("invalid_request", "/parent_id", "not_allowed", message);
  const subject = foldName(agent_id);
  const parent = await readAgent(query, org_id, parent_id);
  if (parent === undefined)
    throw refuse("The register has no such agent. Register the parent first, with PUT /v1/agents/{agent_id}.");
  const parents = await readParents(query, org_id);
  if ([parent_id, ...registeredAbove(parents, parent_id)].some((each) => foldName(each) === subject))
    throw refuse("The parent is the agent itself, or an agent below it. Name an agent above it.");
  const { agents_above_max } = limits;
  if (deepest(new Map(parents).set(subject, parent.agent_id), subject) > agents_above_max)
    throw refuse(`At most ${agents_above_max} agents may stand above an agent. Name a parent nearer to the top.`);
  return parent.agent_id;
}

/** Returns the number of agents above the agent, or above the lowest agent below it. */
function deepest(parents: Parents, subject: string): number {
  let depth = registeredAbove(parents, subject).length;
  for (const each of parents.keys()) {
    const above = registeredAbove(parents, each);
    if (above.some((id) => foldName(id) === subject)) depth = Math.max(depth, above.length);
  }
  return depth;
}

async function demandRoom(query: Query, org_id: string): Promise<void> {
  const { agents_with_parent_max } = limits;
  if ((await countWithParent(query, org_id)) < agents_with_parent_max) return;
  const message = `At most ${agents_with_parent_max} agents may have a parent. Remove the parent of agents that no longer act.`;
  throw faultAt("state_conflict", "/parent_id", "not_allowed", message);
}
