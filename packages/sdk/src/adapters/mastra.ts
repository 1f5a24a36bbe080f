/** Guards the tools of Mastra agents, version 1. */
import { refuseGenerator } from "../guard.ts";
import { normalized } from "./standard-schema.ts";
import {
  createToolGate,
  type GateClient,
  type GateOptions,
  pendingText,
  type Review,
  type ToolGate,
} from "./tool-gate.ts";
import { type ModelOutput, member, withNotes } from "./tool-members.ts";

export type { GateClient, GateOptions, Review };

export interface MastraOptions extends GateOptions {
  /** The id of the conversation. Default: the thread of the agent's memory. */
  readonly session?: string;
}

/** The members of a tool that the guard uses. */
export interface MastraTool {
  // biome-ignore-start lint/suspicious/noExplicitAny: parameters and results are the tool's own types
  readonly execute?: ((input: any, context: any) => Promise<any>) | undefined;
  readonly toModelOutput?: ((output: any) => any) | undefined;
  readonly inputSchema?: any;
  // biome-ignore-end lint/suspicious/noExplicitAny: see above
}

interface Context {
  readonly abortSignal?: AbortSignal | undefined;
  readonly agent?: {
    readonly toolCallId: string;
    readonly threadId?: string;
    readonly suspend: (payload: Review) => Promise<unknown>;
  };
}

/**
 * Returns the same tools with `execute` guarded, under their names. With `review: "suspend"` a call that people must
 * decide suspends the run, and `agent.resumeGenerate` or `resumeStream` resumes it. Throws a TypeError for a tool
 * without `execute`.
 */
export function guardTools<Tools extends Readonly<Record<string, MastraTool>>>(
  client: GateClient,
  options: MastraOptions,
  tools: Tools,
): Tools {
  const gate = createToolGate(client, "mastra", options);
  const entries = Object.entries(tools).map(([name, tool]) => [name, guarded(gate, name, tool, options.session)]);
  return Object.fromEntries(entries) as Tools;
}

function guarded(gate: ToolGate, name: string, tool: MastraTool, session: string | undefined): MastraTool {
  const { execute, toModelOutput } = tool;
  if (typeof execute !== "function") throw new TypeError(`${name} has no function to guard: it is executed elsewhere`);
  refuseGenerator(name, execute);
  return Object.create(Object.getPrototypeOf(tool), {
    ...Object.getOwnPropertyDescriptors(tool),
    execute: member(async (input: unknown, context: Context = {}) => {
      const { agent, abortSignal } = context;
      const args = await normalized(tool.inputSchema, input);
      const call = { name, args, call_id: agent?.toolCallId, signal: abortSignal };
      // An agent's tool converts nothing: its first call gets converted arguments, a resumed one the model's own.
      const run = (approved: unknown, { changed }: { readonly changed: boolean }) =>
        execute.call(tool, changed || agent !== undefined ? approved : input, context);
      const answer = await gate.run({ ...call, session: session ?? agent?.threadId }, run);
      if (answer.kind === "ran") return answer.notes.length === 0 ? answer.result : noted(answer.result, answer.notes);
      if (answer.kind === "suspended" && agent !== undefined) return agent.suspend(answer.review);
      // The model reads the message of an error.
      throw new Error(answer.kind === "refused" ? answer.text : pendingText(answer));
    }),
    ...(toModelOutput !== undefined && {
      toModelOutput: member(async (output: unknown) => {
        const { countersign_notes: notes, ...plain } = (output ?? {}) as Partial<Noted>;
        if (notes === undefined) return toModelOutput.call(tool, output);
        const result = "countersign_result" in plain ? plain.countersign_result : plain;
        return withNotes((await toModelOutput.call(tool, result)) as ModelOutput, notes);
      }),
    }),
  });
}

interface Noted {
  readonly countersign_notes: readonly string[];
  readonly countersign_result?: unknown;
}

/** Adds the notes to the result, because the framework does not tell `toModelOutput` which call it is for. */
function noted(result: unknown, countersign_notes: readonly string[]): Noted {
  if (typeof result === "object" && result !== null && !Array.isArray(result)) return { ...result, countersign_notes };
  return { countersign_result: result, countersign_notes };
}
