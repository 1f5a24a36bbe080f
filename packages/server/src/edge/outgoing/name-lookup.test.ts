import { expect, test, vi } from "vitest";
import { type NameAnswer, testNameServer } from "../../testing/network/name-server.ts";
import { createNameLookup, type ResolveName, sharedLookups } from "./name-lookup.ts";

/** Under `hanging.test` silent, under `unknown.test` unknown, one address for all others. */
function answerOf(name: string): NameAnswer {
  if (name.endsWith("hanging.test")) return "silent";
  return name.endsWith("unknown.test") ? "unknown" : ["192.0.2.1"];
}

async function asking(system?: ResolveName) {
  const { server, asked } = await testNameServer(answerOf);
  const lookup = createNameLookup({ name_servers: [server], ...(system === undefined ? {} : { system }) });
  return { lookup, asked };
}

const codeOf = (error: unknown) => (error as { code?: string }).code;

// Sixty, because their queries must fit into the name server's socket buffer.
test("sixty names with a hanging server delay no other name, nor other work in the four threads of the process", async () => {
  const { lookup } = await asking();
  const ended: string[] = [];
  const hanging = Array.from({ length: 60 }, (_, n) =>
    lookup(`n${n}.hanging.test`).catch((error: unknown) => void ended.push(String(codeOf(error)))),
  );
  for (let n = 0; n < 20; n += 1) expect(await lookup(`n${n}.quick.test`)).toEqual(["192.0.2.1"]);
  const { pbkdf2 } = await import("node:crypto");
  await new Promise((resolve) => pbkdf2("x", "y", 1, 32, "sha256", resolve));
  expect(ended).toEqual([]);
  await Promise.all(hanging);
  expect(new Set(ended)).toEqual(new Set(["ETIMEOUT"]));
}, 60_000);

test("names that only the machine knows are looked up there, two at once, but not if the name servers are silent", async () => {
  const begun: string[] = [];
  const answers: (() => void)[] = [];
  const { lookup } = await asking(async (host) => {
    begun.push(host);
    await new Promise<void>((resolve) => answers.push(resolve));
    return ["10.0.0.1"];
  });
  const local = Array.from({ length: 5 }, (_, n) => lookup(`n${n}.unknown.test`));
  const silent = lookup("x.hanging.test").catch(codeOf);
  await expect.poll(() => begun.length).toBe(2);
  // Name servers know both names, so the machine's lookup is not used.
  expect(await lookup("quick.test")).toEqual(["192.0.2.1"]);
  expect(await silent).toBe("ETIMEOUT");
  expect(begun).toHaveLength(2);
  for (let n = 0; n < 5; n += 1) {
    await expect.poll(() => answers.length).toBeGreaterThan(n);
    answers[n]?.();
  }
  expect(await Promise.all(local)).toEqual(Array.from({ length: 5 }, () => ["10.0.0.1"]));
  expect(begun).not.toContain("x.hanging.test");
}, 60_000);

test("running lookups are aborted by a signal, and the machine is not asked instead", async () => {
  const { server, asked } = await testNameServer(answerOf);
  const system = vi.fn(async () => ["10.0.0.1"]);
  const end = new AbortController();
  const lookup = createNameLookup({ name_servers: [server], system, signal: end.signal });
  const hanging = lookup("x.hanging.test").catch(codeOf);
  await expect.poll(() => asked).toContain("x.hanging.test");
  end.abort();
  expect(await hanging).toBe("ECANCELLED");
  expect(system).not.toHaveBeenCalled();
});

test("a failure of the machine's lookup frees its place", async () => {
  const { lookup } = await asking(async (host) =>
    Promise.reject(Object.assign(new Error(host), { code: "ENOTFOUND" })),
  );
  const codes = await Promise.all(Array.from({ length: 5 }, (_, n) => lookup(`n${n}.unknown.test`).catch(codeOf)));
  expect(codes).toEqual(Array.from({ length: 5 }, () => "ENOTFOUND"));
});

test("an unreachable name server has another reason than an unreachable receiver", async () => {
  const lookup = createNameLookup({ name_servers: ["127.0.0.1:1"] });
  expect(["EAI_AGAIN", "ETIMEOUT"]).toContain(await lookup("quick.test").catch(codeOf));
}, 60_000);

test("attempts with the same name share one lookup, however long it takes; a failure is looked up again", async () => {
  const answers: ((addresses: string[]) => void)[] = [];
  const failures: ((error: Error) => void)[] = [];
  const lookup = sharedLookups(
    () =>
      new Promise((resolve, reject) => {
        answers.push(resolve);
        failures.push(reject);
      }),
  );
  const first = [lookup("a.test"), lookup("a.test"), lookup("b.test")];
  expect(answers).toHaveLength(2);
  failures[0]?.(new Error("gone"));
  answers[1]?.(["192.0.2.2"]);
  expect((await Promise.allSettled(first)).map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
  expect(await lookup("b.test")).toEqual(["192.0.2.2"]);
  const again = lookup("a.test");
  expect(answers).toHaveLength(3);
  answers[2]?.(["192.0.2.1"]);
  expect(await again).toEqual(["192.0.2.1"]);
});
