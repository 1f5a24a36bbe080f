/** Due mails are rows, so a lost wake-up costs seconds, and a killed node loses nothing. */

import { sendCards } from "../operations/channels/send-cards.ts";
import { remindReviewers } from "../operations/escalations/remind-reviewers.ts";
import { sendDigests } from "../operations/escalations/send-digests.ts";
import { tellReviewers } from "../operations/escalations/tell-reviewers.ts";
import { type MailSending, sendMails } from "../operations/people/send-mails.ts";
import { tellAdmins } from "../operations/people/voting/tell-admins.ts";
import type { MailLoop, Runtime } from "../operations/runtime.ts";

const look_every_ms = 5_000;
/** For a mail that is being sent at the stop. */
export const sending_ms_max = 4_000;

export interface Mails extends MailLoop {
  /** A mail that the server has not accepted is sent later. */
  stop(): Promise<void>;
}

export function startMails(runtime: MailSending & Pick<Runtime, "timers" | "mails">): Mails {
  const stopping = new AbortController();
  let stopped = false;
  let again = false;
  let running: Promise<void> | undefined;
  let cancel = schedule();

  function schedule(): () => void {
    return runtime.timers.after(look_every_ms, run);
  }

  function run(): void {
    if (stopped) return;
    if (running !== undefined) {
      again = true;
      return;
    }
    cancel();
    running = look()
      .catch((error: unknown) => runtime.log.error({ err: error }, "looking for mails failed"))
      .finally(() => {
        running = undefined;
        if (stopped) return;
        cancel = schedule();
        if (again) {
          again = false;
          run();
        }
      });
  }

  async function look(): Promise<void> {
    // A person may wait for a mail, so mails are sent before each check of some organizations.
    do {
      while (!stopped && (await tellReviewers(runtime)));
      while (!stopped && (await remindReviewers(runtime)));
      while (!stopped && (await sendDigests(runtime)));
      if (!stopped) await sendCards(runtime);
      while (!stopped && (await sendMails(runtime, stopping.signal)));
    } while (!stopped && (await tellAdmins(runtime)));
  }

  return {
    wake: run,
    async stop() {
      stopped = true;
      cancel();
      const cancelAbort = runtime.timers.after(sending_ms_max, () => stopping.abort());
      await running;
      cancelAbort();
    },
  };
}
