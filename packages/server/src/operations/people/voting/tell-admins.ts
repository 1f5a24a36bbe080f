import { listPeople } from "../../../store/people/people.ts";
import { readReviewersDue, takeReviewersDue, writeReviewersTold } from "../../../store/people/reviewers-due.ts";
import type { Runtime } from "../../runtime.ts";
import { writeMail } from "../mail.ts";
import { rulesOutOfReach } from "./reach.ts";

const at_once_max = 10;
const listed_max = 20;
const told_max = 100;

/**
 * Mails admins about live rules that too few people can decide, after a change of people, keys or rules. A rule is
 * mailed again only if it had enough reviewers in between. Returns true if mails are to be sent or there may be more
 * organizations.
 */
export async function tellAdmins(runtime: Pick<Runtime, "db" | "ids" | "sealer" | "log">): Promise<boolean> {
  const due = await runtime.db.system((query) => readReviewersDue(query, at_once_max));
  let looked = 0;
  let mails = 0;
  for (const { org_id } of due) {
    try {
      const written = await lookAt(runtime, org_id);
      if (written === null) continue;
      looked += 1;
      mails += written;
    } catch (error) {
      runtime.log.error({ err: error, org_id }, "could not check whether people can decide");
    }
  }
  return mails > 0 || (due.length === at_once_max && looked > 0);
}

function lookAt(runtime: Pick<Runtime, "db" | "ids" | "sealer">, org_id: string): Promise<number | null> {
  return runtime.db.system(async (query) => {
    const taken = await takeReviewersDue(query, org_id);
    if (taken === undefined) return null;
    const gone = await rulesOutOfReach(query, org_id);
    const idOf = ({ policy_id, membrane_id }: (typeof gone)[number]) => policy_id ?? membrane_id;
    const fresh = gone.filter((rule) => !taken.gone.includes(idOf(rule)));
    await writeReviewersTold(query, org_id, gone.map(idOf));
    if (fresh.length === 0) return 0;
    const rules = fresh.slice(0, listed_max).map(({ policy, membrane }) => ({ policy, membrane }));
    const admins = await listPeople(query, org_id, "admin", told_max, null);
    for (const { email: to } of admins)
      await writeMail(runtime, query, "nobody_can_decide", { to, rules, more: fresh.length - rules.length });
    return admins.length;
  });
}
