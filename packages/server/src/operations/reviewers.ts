import type { Reviewer } from "@countersign/contract";
import { Fault } from "@countersign/core";
import type { Query } from "../ports.ts";
import { readReviewerIds } from "../store/people.ts";

/**
 * Refuses reviewers who are nobody in the organization: nobody could decide. `path` is where the list stands in the body.
 * Faults: invalid_request naming each; another organization's are unknown here.
 */
export async function refuseUnknownReviewers(
  query: Query,
  org_id: string,
  reviewers: readonly Reviewer[],
  path: string,
): Promise<void> {
  const named = reviewers.filter(({ type }) => type === "user").map(({ id }) => id);
  if (named.length === 0) return;
  const known = new Set(await readReviewerIds(query, org_id, named));
  const message = "Nobody in your organization has this id.";
  const details = reviewers.flatMap(({ type, id }, index) =>
    type === "role" || known.has(id) ? [] : [{ path: `${path}/${index}/id`, code: "not_found", message }],
  );
  if (details.length > 0) throw new Fault("invalid_request", { details });
}
