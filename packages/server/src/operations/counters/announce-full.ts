import { takeFullNotice } from "../../store/counters/full-counters.ts";
import { lockHead } from "../../store/organizations/heads.ts";
import { listPeople } from "../../store/people/people.ts";
import { type MailContents, writeMail } from "../people/mail.ts";
import type { Runtime } from "../runtime.ts";

/** Shortest time between two mails about the counters of one organization. */
const mail_pause_s = 86_400;
const told_max = 100;

type Held = Omit<MailContents["counters_full"], "to">;

/**
 * Mails operators and admins that an action is held because its counters have no room, at most once a day. The decision
 * is committed already. So a failure is only logged, and a later held action tries again.
 */
export async function announceFull(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "sealer" | "mails" | "log" | "counters">,
  org_id: string,
  held: Held,
): Promise<void> {
  if (!runtime.counters.mayAnnounce(org_id, runtime.clock.now_us())) return;
  try {
    if (await tellOperators(runtime, org_id, held)) runtime.mails.wake();
  } catch (error) {
    runtime.log.error({ err: error, org_id }, "could not mail operators about full counters");
  }
}

function tellOperators(runtime: Pick<Runtime, "db" | "ids" | "sealer">, org_id: string, held: Held): Promise<boolean> {
  return runtime.db.tenant(org_id, async (query) => {
    await lockHead(query, org_id);
    if (!(await takeFullNotice(query, org_id, mail_pause_s))) return false;
    for (const role of ["admin", "operator"] as const)
      for (const { email: to } of await listPeople(query, org_id, role, told_max, null))
        await writeMail(runtime, query, "counters_full", { to, ...held });
    return true;
  });
}
