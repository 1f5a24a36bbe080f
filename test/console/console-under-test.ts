/** One node with the built console for each test file, and one browser for each worker. */
import type { Role } from "@countersign/contract";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, vi } from "vitest";
import { changePlan, type Plan } from "../../packages/server/src/operations/organizations/change-plan.ts";
import type { Mail, Passwords } from "../../packages/server/src/ports.ts";
import { type TestDatabase, testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { letPass } from "../../packages/server/src/testing/database/passing-time.ts";
import { webhookNode } from "../../packages/server/src/testing/nodes/webhook-node.ts";
import { builtConsole } from "./built-console.ts";
import { chromiumPath, type Look, openContext, openPage, pollFast, sharedChromium, type Watched } from "./chromium.ts";
import { joinOrganization, linkIn, type Person } from "./people.ts";
import { seedSeveralPeople } from "./seed.ts";

export const test_timeout_ms = 300_000;

const whyNot = chromiumPath === null ? "no Chromium on this machine" : null;

/** Groups tests that need the browser. Without one they are skipped, and the title says why. */
export function inBrowser(title: string, tests: () => void): void {
  describe.skipIf(whyNot !== null)(whyNot === null ? title : `${title}: ${whyNot}`, tests);
}

export interface ConsoleUnderTest {
  readonly url: string;
  /** The same service by name, because browsers have no passkeys for IP addresses. Also its public address. */
  readonly named_url: string;
  readonly mails: readonly Mail[];
  /** Waits for the newest unread mail to an address with this subject. Returns the path of its link. */
  mailedPath(to: string, subject: RegExp): Promise<string>;
  join(admin: string, email: string, role: Role): Promise<Person>;
  /** The service's database, for data that is slow to create through the API. */
  readonly database: TestDatabase;
  /** Moves the service's clock, for things that expire. */
  advance(seconds: number): Promise<void>;
  /** Same as `countersign orgs plan`. */
  setPlan(org_id: string, plan: Plan): Promise<void>;
  /** Opens a page in a browser profile without other open pages. Closes it after the test. */
  open(look?: Look & Own, base_url?: string): Promise<Watched>;
}

interface Own {
  readonly own?: boolean;
}

/** Keeps passwords unhashed, because hashing took a third of the time of joining. */
const passwords: Passwords = {
  hash: async (password) => `unhashed ${password}`,
  verify: async (known, password) => known === `unhashed ${password}`,
};

/**
 * Opens a page that stays open, so that the browser keeps its renderer process, in which pages load three times as
 * fast.
 */
async function openResident(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  await page.goto("/favicon.svg");
  return page;
}

/** Reuses browser profiles between tests, because a page loads faster from a filled cache. */
function createProfiles() {
  interface Profile {
    readonly kind: string;
    readonly context: BrowserContext;
    readonly resident: Page | null;
  }
  const free: Profile[] = [];
  const used: Profile[] = [];
  async function create(kind: string, base_url: string, own: boolean, zone?: string): Promise<Profile> {
    const context = await openContext(await sharedChromium(), base_url, zone);
    return { kind, context, resident: own ? null : await openResident(context) };
  }
  return {
    async open(base_url: string, { own = false, ...look }: Look & Own): Promise<Watched> {
      const kind = `${base_url} ${look.zone}`;
      const at = own ? -1 : free.findIndex((each) => each.kind === kind);
      const [kept] = at < 0 ? [] : free.splice(at, 1);
      const profile = kept ?? (await create(kind, base_url, own, look.zone));
      used.push(profile);
      const watched = await openPage(profile.context, base_url, look);
      await pollFast(watched.page);
      return watched;
    },
    /** Closes the pages of a test. The next test gets only the cache. */
    async giveBack(): Promise<void> {
      for (const profile of used.splice(0)) {
        const { context, resident } = profile;
        if (resident === null) {
          await context.close();
          continue;
        }
        for (const page of context.pages()) if (page !== resident) await page.close();
        await context.clearCookies();
        await context.clearPermissions();
        await context.setOffline(false);
        free.push(profile);
      }
    },
    async close(): Promise<void> {
      for (const { context } of [...free.splice(0), ...used.splice(0)]) await context.close();
    },
  };
}

const named = (url: string) => url.replace("127.0.0.1", "localhost");

/** Call it at the top of a test file. Its result is usable only inside tests. */
export async function consoleUnderTest(): Promise<ConsoleUnderTest> {
  let url = "";
  const mails: Mail[] = [];
  const profiles = createProfiles();
  let node: Awaited<ReturnType<typeof webhookNode>> | undefined;
  let ahead_us = 0;
  let database: TestDatabase | undefined;
  if (whyNot === null) {
    const made = await testDatabase();
    database = made;
    beforeAll(async () => {
      await sharedChromium();
      node = await webhookNode(made, {
        console: await builtConsole(),
        clock: { now_us: () => Date.now() * 1_000 + ahead_us },
        mailer: { delivers: true, send: async (mail) => void mails.push(mail) },
        passwords,
      });
      url = node.url;
      seedSeveralPeople(url, made.db);
      Object.assign(node.runtime.settings, { public_url: () => named(url) });
    }, test_timeout_ms);
    afterEach(() => profiles.giveBack(), test_timeout_ms);
    afterAll(() => profiles.close(), test_timeout_ms);
  }
  // The newest mail may be an older one, because mails leave some time after the answer.
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
    setPlan: (org_id, plan) =>
      changePlan((node as NonNullable<typeof node>).runtime, { org_id, actor: "operator" }, plan),
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
    open: (look = {}, base_url = url) => profiles.open(base_url, look),
  };
}
