import { limits, type Membrane, open_mode_org_id } from "@countersign/contract";
import { formatTimestampUs, quickstartPacks } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { insertMembrane } from "../../store/membranes/membranes.ts";
import { createHead, withHead } from "../../store/organizations/heads.ts";
import { insertOrganization } from "../../store/organizations/organizations.ts";
import { membraneDefaults } from "../membranes/membranes.ts";
import type { Runtime } from "../runtime.ts";

const default_plan_id = "unlimited";

export interface NewOrganization {
  readonly org_id: string;
  readonly name: string;
  readonly email: string | null;
  readonly description: string;
  readonly action_catalogue?: Membrane["action_catalogue"];
  readonly actor: string;
}

type Needs = Pick<Runtime, "clock" | "ids">;

/**
 * Creates an organization and its default membrane in shadow, in the caller's system transaction. Null: it already
 * exists.
 */
export async function createOrganization(
  runtime: Needs,
  query: Query,
  organization: NewOrganization,
): Promise<Membrane | null> {
  const at = formatTimestampUs(runtime.clock.now_us());
  const { org_id, name, email, description, actor } = organization;
  const row = { org_id, name, email, description, plan_id: default_plan_id, included_actions: null, created_at: at };
  if (!(await insertOrganization(query, row))) return null;
  const membrane: Membrane = {
    ...structuredClone(membraneDefaults),
    membrane_id: runtime.ids.next("membrane"),
    name: "default",
    status: "shadow",
    is_default: true,
    packs: [...quickstartPacks],
    action_catalogue: [...(organization.action_catalogue ?? [])].slice(0, limits.action_catalogue_max),
    created_at: at,
  };
  await createHead(query, org_id, at.slice(0, 7));
  await insertMembrane(query, org_id, membrane);
  await withHead(query, org_id, {
    audit: [
      auditRow(runtime.ids, { intent_id: null, at, actor, type: "organization_created", data: { name } }),
      auditRow(runtime.ids, { intent_id: null, at, actor, type: "membrane_created", data: { membrane } }),
    ],
  });
  return membrane;
}

export async function ensureOpenModeOrganization(runtime: Needs & Pick<Runtime, "db">): Promise<void> {
  await runtime.db.system(async (query) => {
    await createOrganization(runtime, query, {
      org_id: open_mode_org_id,
      name: "Open mode",
      email: null,
      description: "The organization of requests without a key from this machine, until the first key is created.",
      actor: "system",
    });
  });
}
