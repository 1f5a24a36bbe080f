/** One node with the built console and one browser, for the tests of a file. */

import type { Role } from "@countersign/contract";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, vi } from "vitest";
import type { ServiceNode } from "../../packages/server/src/edge/node.ts";
import { changePlan, type Plan } from "../../packages/server/src/operations/organizations/change-plan.ts";
import type { Mail } from "../../packages/server/src/ports.ts";
import { type TestDatabase, testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { letPass } from "../../packages/server/src/testing/database/passing-time.ts";
import { webhookNode } from "../../packages/server/src/testing/nodes/webhook-node.ts";
import { builtConsole } from "./built-console.ts";
import { chromiumPath, type Look, openPage, startChromium, type Watched } from "./chromium.ts";
import { joinOrganization, linkIn, type Person } from "./people.ts";

/** Long enough for a browser on a busy machine; a test ends as soon as its conditions hold. */
export const test_timeout_ms = 180_000;

/** Why the tests cannot run here; null: they can. */
const whyNot = chromiumPath === null ? "no Chromium on this machine" : null;

/** Tests that need the browser; where there is none they are skipped, and their title says why. */
export function inBrowser(title: string, tests: () => void): void {
  describe.skipIf(whyNot !== null)(whyNot === null ? title : `${title}: ${whyNot}`, tests);
}

/** What the tests of one file share. */
export interface ConsoleUnderTest {
  readonly url: string;
  /** The same service by a name: browsers have no passkeys for addresses. It is its public address, too. */
  readonly named_url: string;
  /** What the service has mailed, oldest first. */
  readonly mails: readonly Mail[];
  /** The path of the newest link that was mailed to an address and not yet given by a call before; waits for it. */
  mailedPath(to: string, subject: RegExp): Promise<string>;
  /** Somebody who was invited with this key and has joined. */
  join(admin: string, email: string, role: Role): Promise<Person>;
  /** The service's database, for what would take too long through the API. */
  readonly database: TestDatabase;
  /** Lets time pass for the service, for what ends by itself. */
  advance(seconds: number): Promise<void>;
  /** Puts an organization on a plan, as `countersign orgs plan` does. */
  setPlan(org_id: string, plan: Plan): Promise<void>;
  /** A page in a context of its own; closed with the browser. */
  open(look?: Look, base_url?: string): Promise<Watched>;
}

const named = (url: string) => url.replace("127.0.0.1", "localhost");

/** Call it at the top of a test file; what it gives can be used inside tests. */
export async function consoleUnderTest(): Promise<ConsoleUnderTest> {
  let url = "";
  const mails: Mail[] = [];
  let browser: Browser | undefined;
  let node: ServiceNode | undefined;
  let ahead_us = 0;
  let database: TestDatabase | undefined;
  if (whyNot === null) {
    const made = await testDatabase();
    database = made;
    beforeAll(async () => {
      const [assembled, started] = await Promise.all([
        webhookNode(made, {
          console: await builtConsole(),
          clock: { now_us: () => Date.now() * 1_000 + ahead_us },
          mailer: { send: async (mail) => void mails.push(mail) },
        }),
        startChromium(),
      ]);
      node = assembled;
      url = assembled.url;
      Object.assign(assembled.runtime.settings, { public_url: () => named(url) });
      browser = started;
    }, test_timeout_ms);
    afterAll(async () => await browser?.close(), test_timeout_ms);
  }
  // A mail leaves some time after its request is answered: until then the newest one of an address is an older one.
  const given = new Set<Mail>();
  async function mailedPath(to: string, subject: RegExp): Promise<string> {
    const find = () => mails.findLast((mail) => mail.to === to && subject.test(mail.subject) && !given.has(mail));
    const mail = await vi.waitUntil(find, { timeout: 60_000 });
    given.add(mail);
    return linkIn(mail.text);
  }
  return {
    advance: async (seconds) => {
      ahead_us += seconds * 1_000_000;
      await letPass((database as TestDatabase).db, seconds);
    },
    setPlan: (org_id, plan) => changePlan((node as ServiceNode).runtime, { org_id, actor: "operator" }, plan),
    mailedPath,
    join: (admin, email, role) => joinOrganization(url, admin, { email, role }, () => mailedPath(email, /^Join/)),
    get database() {
      return database as TestDatabase;
    },
    get url() {
      return url;
    },
    get named_url() {
      return named(url);
    },
    mails,
    open: (look, base_url = url) => openPage(browser as Browser, base_url, look),
  };
}
