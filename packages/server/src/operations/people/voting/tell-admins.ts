import { listPeople } from "../../../store/people/people.ts";
import { readReviewersDue, takeReviewersDue, writeReviewersTold } from "../../../store/people/reviewers-due.ts";
import type { Runtime } from "../../runtime.ts";
import { writeMail } from "../mail.ts";
import { rulesOutOfReach } from "./reach.ts";

/** Organizations looked at in one pass. */
const at_once_max = 50;
/** How many rules one mail lists; it gives the number of the others. */
const listed_max = 20;
/** How many admins get the mail. */
const told_max = 100;

/**
 * Looks at the organizations whose people, keys or rules changed, and mails admins the live rules that too few people can decide now. A
 * rule is mailed once, and again only after it had enough reviewers in between. Returns true if there may be more.
 */
export async function tellAdmins(runtime: Pick<Runtime, "db" | "ids" | "sealer" | "log">): Promise<boolean> {
  const due = await runtime.db.system((query) => readReviewersDue(query, at_once_max));
  let looked = 0;
  for (const { org_id } of due) {
    // Each organization has a transaction of its own: one that fails must not keep the others waiting.
    try {
      if (await lookAt(runtime, org_id)) looked += 1;
    } catch (error) {
      runtime.log.error({ err: error, org_id }, "a look whether people can decide failed");
    }
  }
  return due.length === at_once_max && looked > 0;
}

/** Returns false if the look is not due any more, or another node looks. */
function lookAt(runtime: Pick<Runtime, "db" | "ids" | "sealer">, org_id: string): Promise<boolean> {
  return runtime.db.system(async (query) => {
    const taken = await takeReviewersDue(query, org_id);
    if (taken === undefined) return false;
    const gone = await rulesOutOfReach(query, org_id);
    const idOf = ({ policy_id, membrane_id }: (typeof gone)[number]) => policy_id ?? membrane_id;
    const fresh = gone.filter((rule) => !taken.told.includes(idOf(rule)));
    await writeReviewersTold(query, org_id, gone.map(idOf));
    if (fresh.length === 0) return true;
    const rules = fresh.slice(0, listed_max).map(({ policy, membrane }) => ({ policy, membrane }));
    for (const { email: to } of await listPeople(query, org_id, "admin", told_max, null))
      await writeMail(runtime, query, "nobody_can_decide", { to, rules, more: fresh.length - rules.length });
    return true;
  });
}
