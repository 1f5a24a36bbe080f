import { organizationsToTellOfExpiry, takeExpiringKeys } from "../../store/keys/key-expiry.ts";
import { listPeople } from "../../store/people/people.ts";
import { writeMail } from "../people/mail.ts";
import type { Runtime } from "../runtime.ts";

type Telling = Pick<Runtime, "db" | "ids" | "sealer" | "mails" | "log">;

const organizations_max = 50;
const told_admins_max = 100;
const named_max = 20;

/**
 * Mails admins about keys that expire in 14, 3 or 1 days, each time once per key. Failing organizations are added to
 * `passed_over`, which the next pass skips. Returns true if there may be more.
 */
export async function announceExpiry(runtime: Telling, passed_over: string[]): Promise<boolean> {
  const found = await runtime.db.system((query) => organizationsToTellOfExpiry(query, organizations_max, passed_over));
  for (const org_id of found) {
    try {
      await announceTo(runtime, org_id);
    } catch (error) {
      passed_over.push(org_id);
      runtime.log.error({ err: error, org_id }, "could not mail admins about expiring keys");
    }
  }
  return found.length === organizations_max;
}

/** One transaction marks the keys and writes the mails, so two nodes never mail twice. */
async function announceTo(runtime: Telling, org_id: string): Promise<void> {
  const mailed = await runtime.db.system(async (query) => {
    const keys = await takeExpiringKeys(query, org_id);
    if (keys.length === 0) return 0;
    const named = keys
      .slice(0, named_max)
      .map(({ key_id, name, role, expires_at }) => ({ key_id, name, role, expires_at }));
    const admins = await listPeople(query, org_id, "admin", told_admins_max, null);
    for (const { email: to } of admins)
      await writeMail(runtime, query, "key_expiry", { to, keys: named, more: keys.length - named.length });
    return admins.length;
  });
  if (mailed > 0) runtime.mails.wake();
}
