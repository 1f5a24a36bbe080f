/** A service for the run, with an organization that approves everything and one that has rules. */
import { createClient } from "../../packages/sdk/src/index.ts";
import type { TestDatabase } from "../../packages/server/src/testing/database/database.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";
import type { Access } from "./through.ts";

/** The tools that the rules of the second organization name. */
const ruled = {
  blocked: "test_simple_text",
  escalated: "test_image_content",
  changed: "test_elicitation",
} as const;

const policies = {
  "not-this-text": { match: { verbs: [ruled.blocked] }, when: "true", effect: "block", message: "Not this text." },
  "people-look": { match: { verbs: [ruled.escalated] }, when: "true", effect: "escalate", message: "People look." },
  "other-words": {
    match: { verbs: [ruled.changed] },
    when: "true",
    effect: "approve_modified",
    modify: [{ op: "set", path: "/message", value: '"Please."' }],
    message: "Ask with other words.",
  },
};

export interface Accesses {
  readonly approving: Access;
  readonly ruling: Access;
}

/** Runs until the file's tests are done. */
export async function startService(database: TestDatabase): Promise<Accesses> {
  const { url } = await serviceNode(database);
  const [approving, ruling] = [
    await reviewedOrganization(database.db, url, { packs: [] }),
    await reviewedOrganization(database.db, url, { packs: [] }),
  ];
  const admin = createClient({ base_url: url, api_key: ruling.admin });
  for (const [name, spec] of Object.entries(policies)) {
    const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name, title: name }, spec };
    await admin.activatePolicy((await admin.createPolicy({ policy })).policy_id, "live");
  }
  return { approving: { url, api_key: approving.agent }, ruling: { url, api_key: ruling.agent } };
}
