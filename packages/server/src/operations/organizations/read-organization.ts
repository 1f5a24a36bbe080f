import type { CallerInfo } from "@countersign/contract";
import { readOrganizationName } from "../../store/organizations/organizations.ts";
import { identityOf } from "../people/identity.ts";
import type { Runtime } from "../runtime.ts";
import { type Caller, shownActor } from "../shared/caller.ts";

export async function readCaller(runtime: Pick<Runtime, "db">, caller: Caller): Promise<CallerInfo> {
  const { org_id, role, scope, agent_id, environment } = caller;
  const { org_name, person } = await runtime.db.tenant(org_id, async (query) => ({
    org_name: await readOrganizationName(query, org_id),
    person: (await identityOf(query, org_id, caller.lineage_id)).person,
  }));
  const { type } = shownActor(caller.actor);
  const id = caller.key_id ?? caller.user_id;
  const about = { type: type === "system" ? ("open_mode" as const) : type, id, person };
  const second_factor_missing = caller.second_factor_missing ?? false;
  return { ...about, org_id, org_name, role, scope, agent_id, environment, second_factor_missing };
}
