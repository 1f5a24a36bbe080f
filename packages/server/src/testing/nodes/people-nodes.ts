import { expect } from "vitest";
import type { NodeParts } from "../../edge/node.ts";
import type { Clock, Mail } from "../../ports.ts";
import type { TestDatabase } from "../database/database.ts";
import { letPass } from "../database/passing-time.ts";
import { call, testOrganization } from "./http-node.ts";
import { serviceNode } from "./service-node.ts";

export interface Sent {
  readonly cookie?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly key?: string;
}

export const password = "correct horse battery staple";

type Own = Partial<Pick<NodeParts, "sealer" | "httpOut" | "clock">>;

export async function peopleNodes(database: TestDatabase, own: readonly [Own, Own] = [{}, {}]) {
  const mails: Mail[] = [];
  const mailer = { delivers: true, send: async (mail: Mail) => void mails.push(mail) };
  let offset_us = 0;
  const clock: Clock = { now_us: () => Date.now() * 1000 + offset_us };
  // Any node may send mails.
  const parts = { mailer, clock };
  const first = await serviceNode(database, { ...parts, ...own[0] });
  const second = await serviceNode(database, { ...parts, ...own[1] });
  const { url } = first;
  const { url: other } = second;
  // Ends open mode, so that access needs a session.
  await (await testOrganization(database.db)).key();
  let numbers = 0;
  const newAddress = () => `person-${++numbers}@example.com`;

  async function send(method: string, path: string, { cookie, body, headers = {}, key }: Sent = {}, base = url) {
    const answer = await call(base, method, path, {
      ...(body === undefined ? {} : { body }),
      ...(key === undefined ? {} : { key }),
      headers: { ...headers, ...(cookie === undefined ? {} : { cookie }) },
    });
    const set = answer.headers.get("set-cookie");
    return { ...answer, code: answer.json?.error?.code, set, cookie: set?.split(";")[0] ?? cookie };
  }

  async function mailed(to: string, subject: RegExp): Promise<string> {
    await expect.poll(() => mails.some((mail) => mail.to === to && subject.test(mail.subject))).toBe(true);
    const mail = mails.findLast((each) => each.to === to && subject.test(each.subject)) as Mail;
    const [, token] = /\?token=([\w%.-]+)/.exec(mail.text) ?? [];
    return decodeURIComponent(token ?? "");
  }

  const count = (to: string) => mails.filter((mail) => mail.to === to).length;

  async function signedUp(email = newAddress(), org_name = "Acme") {
    expect((await send("POST", "/v1/auth/signup", { body: { org_name, email, password } })).status).toBe(202);
    const token = await mailed(email, /^Confirm/);
    expect((await send("POST", "/v1/auth/verify-email", { body: { token, password } })).status).toBe(204);
    const login = await send("POST", "/v1/auth/login", { body: { email, password } });
    expect(login.status).toBe(200);
    return { email, cookie: login.cookie as string, session: login.json.session, token };
  }

  async function joined(admin: string, role: string) {
    const email = newAddress();
    const invited = await send("POST", "/v1/auth/invitations", { cookie: admin, body: { email, role } });
    expect(invited.status).toBe(201);
    const token = await mailed(email, /^Join/);
    const accepted = await send("POST", "/v1/auth/invitations/accept", { body: { token, password } });
    expect(accepted.status).toBe(200);
    return { email, cookie: accepted.cookie as string, user_id: accepted.json.session.user.user_id as string, token };
  }

  return {
    url,
    other,
    parts,
    clock,
    mails,
    newAddress,
    send,
    mailed,
    count,
    signedUp,
    joined,
    close: () => Promise.all([first.close(), second.close()]),
    /** For the nodes' rate windows and for stored times. */
    advance: async (seconds: number) => {
      offset_us += seconds * 1_000_000;
      await letPass(database.db, seconds);
    },
  };
}
