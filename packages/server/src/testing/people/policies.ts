import { call } from "../nodes/http-node.ts";
import type { Reviewed } from "./review.ts";

/** Creates a policy and makes it live. Returns its id. */
export async function activatePolicy(
  url: string,
  { admin }: Pick<Reviewed, "admin">,
  name: string,
  spec: object,
): Promise<string> {
  const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name }, spec };
  const created = await call(url, "POST", "/v1/policies", { key: admin, body: { policy } });
  if (created.status !== 201) throw new Error(created.text);
  const { policy_id } = created.json.policy;
  const activated = await call(url, "POST", `/v1/policies/${policy_id}/activate`, {
    key: admin,
    body: { mode: "live" },
  });
  if (activated.status !== 200) throw new Error(activated.text);
  return policy_id;
}
