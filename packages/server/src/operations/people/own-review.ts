/**
 * Decides whether people may rule on their own actions. Only the one person of an organization in solo mode may,
 * recorded as `self_reviewed`. See docs/reference/reviews.md.
 */
import { roleMeets } from "@countersign/contract";
import { type Fault, faultAt } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { readFirstKey, type SubmittingKey } from "../../store/keys/keys.ts";
import { isSolo } from "../../store/people/solo.ts";
import { command_line_person } from "../shared/caller.ts";
import type { Identity } from "./identity.ts";

/** "other": another person submitted the action. "solo": the same person, who may rule. */
export type OwnReview = { readonly kind: "other" | "solo" } | { readonly kind: "refused"; readonly fault: Fault };

export async function judgeOwnReview(
  query: Query,
  org_id: string,
  reviewer: Identity,
  submitter: Identity,
): Promise<OwnReview> {
  if (reviewer.person !== submitter.person) return { kind: "other" };
  const key = await readFirstKey(query, org_id, submitter.self);
  const whose = `${submittedBy(submitter, key)} ${samePerson(reviewer)}`;
  if (!(await isSolo(query, org_id)))
    return refused(`${whose} Ask another person to decide, or reassign the review to one.`);
  // An admin's key could create further keys to approve what it submits.
  if (key === undefined || roleMeets(key.role, ["admin"]))
    return refused(
      `${whose} What somebody with the right to create keys submits needs a second person: invite one ` +
        "(POST /v1/auth/invitations). Give agents keys of the role agent.",
    );
  if (reviewer.makers.has(submitter.self))
    return refused(`${whose} Decide with the key or account that made it, or invite a second person.`);
  return { kind: "solo" };
}

function refused(message: string): OwnReview {
  return { kind: "refused", fault: faultAt("self_review", "", "not_allowed", message) };
}

function submittedBy({ self, person }: Identity, key: SubmittingKey | undefined): string {
  if (key !== undefined)
    return `The action was submitted with the key ${key.key_id}${key.name === null ? "" : ` (${key.name})`}.`;
  return person === command_line_person
    ? "The action was submitted in open mode."
    : `The action was submitted by ${self}.`;
}

function samePerson({ self, person }: Identity): string {
  const root =
    person === command_line_person
      ? "the command line or open mode made both"
      : person === self
        ? "you made it, or a key that you made"
        : `both go back to ${person}`;
  return `That is the same person as you: ${root}.`;
}
