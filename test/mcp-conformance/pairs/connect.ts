/** The official clients, as one interface. */
import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { environment } from "../through.ts";
import { filled } from "./forms.ts";
import { record, type Said } from "./recorder.ts";

type Named = { readonly name: string; readonly arguments?: Readonly<Record<string, string>> };

interface Asking {
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  listResources(): Promise<{ readonly resources: readonly { readonly uri: string }[] }>;
  listResourceTemplates(): Promise<unknown>;
  readResource(asked: { readonly uri: string }): Promise<unknown>;
  subscribeResource(asked: { readonly uri: string }): Promise<unknown>;
  unsubscribeResource(asked: { readonly uri: string }): Promise<unknown>;
  listPrompts(): Promise<{ readonly prompts: readonly { readonly name: string }[] }>;
  getPrompt(asked: Named): Promise<unknown>;
  complete(asked: {
    readonly ref: { readonly type: "ref/prompt"; readonly name: string };
    readonly argument: { readonly name: string; readonly value: string };
  }): Promise<unknown>;
  ping(): Promise<unknown>;
  setLoggingLevel(level: "debug"): Promise<unknown>;
  close(): Promise<void>;
}

interface CallOptions {
  readonly onprogress?: () => void;
  readonly signal?: AbortSignal;
}

export interface Connected {
  readonly client: Asking;
  readonly said: Said[];
  call(name: string, given: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<unknown>;
}

const info = { name: "conformance-client", version: "1.0.0" };
const capabilities = { sampling: {}, elicitation: {}, roots: { listChanged: true } };
const sampled = { model: "none", role: "assistant", content: { type: "text", text: "Paris" } } as const;
const roots = { roots: [{ uri: "file:///nowhere", name: "nowhere" }] };

const accept = (params: unknown) => ({
  action: "accept" as const,
  content: filled((params as { requestedSchema?: object }).requestedSchema ?? {}),
});

/** The client of `@modelcontextprotocol/sdk` 1.x: revision 2025-11-25. */
async function connectV1([command, ...args]: readonly [string, ...string[]]): Promise<Connected> {
  const client = new ClientV1(info, { capabilities });
  client.setRequestHandler(CreateMessageRequestSchema, () => sampled);
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => accept(params));
  client.setRequestHandler(ListRootsRequestSchema, () => roots);
  const transport = new StdioV1({ command, args, env: environment, stderr: "ignore" });
  const said = record(transport);
  await client.connect(transport);
  const call: Connected["call"] = (name, given, options) =>
    client.callTool({ name, arguments: { ...given } }, undefined, options as object);
  return { client: client as unknown as Asking, said, call };
}

/** The client of `@modelcontextprotocol/client` 2.x. */
async function connectV2(
  [command, ...args]: readonly [string, ...string[]],
  mode: "legacy" | { readonly pin: string },
): Promise<Connected> {
  const client = new ClientV2(info, { capabilities, versionNegotiation: { mode } });
  client.setRequestHandler("sampling/createMessage", () => sampled);
  client.setRequestHandler("elicitation/create", ({ params }) => accept(params));
  client.setRequestHandler("roots/list", () => roots);
  const transport = new StdioV2({ command, args, env: environment, stderr: "ignore" });
  const said = record(transport as unknown as Parameters<typeof record>[0]);
  await client.connect(transport);
  const call: Connected["call"] = (name, given, options) =>
    client.callTool({ name, arguments: { ...given } }, options as object);
  return { client: client as unknown as Asking, said, call };
}

export const clients = {
  "v1 client, 2025-11-25": connectV1,
  "v2 client, 2025-11-25": (command) => connectV2(command, "legacy"),
  "v2 client, 2026-07-28": (command) => connectV2(command, { pin: "2026-07-28" }),
} satisfies Record<string, (command: readonly [string, ...string[]]) => Promise<Connected>>;
