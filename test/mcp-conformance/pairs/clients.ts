/** The official clients with each server. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Outcome, Outcomes, Pair } from "../outcomes.ts";
import { type Subject, subjects } from "./calls.ts";
import { type Connected, clients } from "./connect.ts";
import type { Said } from "./recorder.ts";

const asks_within_ms = 60_000;

type Ask = () => Promise<unknown>;
type Message = { readonly id?: string | number; readonly method?: string };

/** Everything that a client asks for, in this order. */
async function* asked({ client, call }: Connected, subject: Subject, is_old: boolean): AsyncGenerator<[string, Ask]> {
  const lists = { listTools: () => client.listTools(), listTemplates: () => client.listResourceTemplates() };
  for (const [name, ask] of Object.entries(lists)) yield [name, ask];
  for (const [at, [name, given, label]] of subject.calls.entries()) {
    const before = subject.calls.slice(0, at).filter((each) => each[0] === name).length;
    const which = label === undefined ? (before === 0 ? "" : ` (${before + 1})`) : `, ${label}`;
    yield [`call ${name}${which}`, () => call(name, given, { onprogress: () => undefined })];
  }
  const { hanging } = subject;
  if (hanging !== null)
    yield [
      `cancel ${hanging}`,
      () => {
        const cancelling = new AbortController();
        const called = call(hanging, {}, { signal: cancelling.signal });
        cancelling.abort("no longer");
        return called;
      },
    ];
  let uris: string[] = [];
  yield [
    "listResources",
    async () => {
      const found = await client.listResources();
      uris = found.resources.map(({ uri }) => uri);
      return found;
    },
  ];
  for (const uri of [...uris, "test://template/7/data", "none://such"])
    yield [`read ${uri}`, () => client.readResource({ uri })];
  yield ["listPrompts", () => client.listPrompts()];
  for (const [at, prompt] of subject.prompts.entries())
    yield [`prompt ${prompt.name} (${at + 1})`, () => client.getPrompt(prompt)];
  if (subject.completion !== null) {
    const [name, argument] = subject.completion;
    const ref = { type: "ref/prompt", name } as const;
    yield ["complete", () => client.complete({ ref, argument: { name: argument, value: "" } })];
  }
  if (!is_old) return;
  yield ["ping", () => client.ping()];
  yield ["setLevel", () => client.setLoggingLevel("debug")];
  const [uri = "none://such"] = uris;
  yield ["subscribe", () => client.subscribeResource({ uri })];
  yield ["unsubscribe", () => client.unsubscribeResource({ uri })];
}

/** A result, or what the client's user catches. */
async function outcome(ask: Ask): Promise<Outcome> {
  try {
    const result = (await ask()) as { isError?: boolean } | undefined;
    return { said: result?.isError === true ? "error result" : "result", seen: result ?? null };
  } catch (error) {
    const { name, message, code = null, data = null } = error as Error & { code?: unknown; data?: unknown };
    return { said: "error", seen: { name, message, code, data } };
  }
}

/** Groups the server's own messages and the client's answers by method, because their order to other messages is free. */
function unasked(said: readonly Said[]): Record<string, unknown[]> {
  const groups: Record<string, unknown[]> = {};
  for (const { by, message } of said) {
    const { method } = message as Message;
    if ((by === "server") === (method === undefined)) continue;
    const name = `${by}: ${method ?? "answers"}`;
    groups[name] = [...(groups[name] ?? []), message];
  }
  return groups;
}

/** The client's requests, and the server's answers to them. */
function exchanged(said: readonly Said[]): unknown[] {
  const requests = said.filter(({ by, message }) => by === "client" && "method" in (message as Message));
  const answers = said.filter(({ by, message }) => by === "server" && !("method" in (message as Message)));
  return [...requests, ...answers].map(({ message }) => message);
}

/** Without it, a call could meet the server's request or not, and the compared messages would differ by chance. */
async function untilAsked(said: readonly Said[], method: string): Promise<void> {
  const is_asked = () => said.some(({ by, message }) => by === "server" && (message as Message).method === method);
  const ends_at = Date.now() + asks_within_ms;
  while (!is_asked()) {
    if (Date.now() > ends_at) throw new Error(`The server did not ask for ${method} within ${asks_within_ms} ms.`);
    await sleep(20);
  }
}

async function runAll(connected: Connected, subject: Subject, is_old: boolean): Promise<Outcomes> {
  const outcomes = new Map<string, Outcome>([["connect", { said: "result", seen: exchanged(connected.said) }]]);
  if (subject.asks_first !== null) await untilAsked(connected.said, subject.asks_first);
  for await (const [name, ask] of asked(connected, subject, is_old)) {
    const before = connected.said.length;
    const { said, seen } = await outcome(ask);
    outcomes.set(name, { said, seen: { seen, messages: exchanged(connected.said.slice(before)) } });
  }
  return outcomes.set("messages of the server", { said: "compared", seen: unasked(connected.said) });
}

/** Servers on a package of version 1 speak no newer revision. */
const is_new: readonly string[] = ["fixtures"];

export const clientPairs: readonly Pair[] = Object.entries(clients).flatMap(([client, connect]) =>
  Object.entries(subjects)
    .filter(([server]) => client.endsWith("2025-11-25") || is_new.includes(server))
    .map(([server, subject]) => ({
      name: `${client} × ${server}`,
      async run(through) {
        const { command, clean } = subject.prepare();
        const connected = await connect(through.command(command));
        try {
          return await runAll(connected, subject, client.endsWith("2025-11-25"));
        } finally {
          await connected.client.close();
          clean();
        }
      },
    })),
);
