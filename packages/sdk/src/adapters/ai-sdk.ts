/** Guards tools of the Vercel AI SDK, versions 6 and 7. */
import { refuseGenerator } from "../guard.ts";
import {
  createToolGate,
  type GateClient,
  type GateOptions,
  isSuspended,
  pendingText,
  type Review,
  type ToolCall,
  type ToolGate,
  undecidedText,
} from "./tool-gate.ts";
import { type ModelOutput, member, plainOutput, withNotes } from "./tool-members.ts";

export type { GateClient, GateOptions, Review };

export interface AiSdkOptions extends GateOptions {
  /** The id of the chat. Needed if your model provider's tool call ids are not unique. */
  readonly session?: string;
}

/** The members of a tool that the guard uses. */
export interface AiSdkTool {
  // biome-ignore-start lint/suspicious/noExplicitAny: parameters and results are the tool's own types
  readonly execute?: ((input: any, options: any) => any) | undefined;
  readonly needsApproval?: boolean | ((input: any, options: any) => boolean | PromiseLike<boolean>) | undefined;
  readonly toModelOutput?: ((options: any) => any) | undefined;
  // biome-ignore-end lint/suspicious/noExplicitAny: see above
}

interface CallOptions {
  readonly toolCallId: string;
  readonly messages?: readonly ChatMessage[] | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

type Status = { readonly type: "denied" | "user-approval"; readonly reason: string } | undefined;

export interface GuardedTools<Tools> {
  /** The same tools. Give them to `generateText`, `streamText` or an agent. */
  readonly tools: Tools;
  /** For `toolApproval` of version 7: refuses calls before they run. */
  readonly toolApproval: {
    // biome-ignore lint/suspicious/noExplicitAny: parameters are the tool's own types
    readonly [Name in keyof Tools]: (input: any, options: CallOptions) => Promise<Status>;
  };
  /**
   * Returns the messages with answers to all open approval requests; null while one of them is open, because reviewers
   * have not decided, or because the tool is not a guarded one.
   * A later run with these messages resumes the calls.
   */
  resume<Message extends ChatMessage>(messages: readonly Message[]): Promise<Message[] | null>;
}

interface ChatMessage {
  readonly role: string;
  readonly content: unknown;
}

/**
 * Puts the service before each tool. Throws a TypeError for a tool without `execute`, for one with a `needsApproval` of
 * its own, and for one that returns its result in parts.
 */
export function guardTools<Tools extends Readonly<Record<string, AiSdkTool>>>(
  client: GateClient,
  options: AiSdkOptions,
  tools: Tools,
): GuardedTools<Tools> {
  const gate = createToolGate(client, "ai-sdk", options);
  const callOf = (name: string, args: unknown, { toolCallId, abortSignal }: CallOptions): ToolCall => ({
    ...{ name, args, call_id: toolCallId, signal: abortSignal },
    session: options.session,
  });
  const each = <Made>(make: (name: string, tool: AiSdkTool) => Made) =>
    Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, make(name, tool)]));
  return {
    tools: each((name, tool) => guarded(gate, name, tool, callOf)) as Tools,
    toolApproval: each(
      (name) => (input: unknown, terms: CallOptions) => statusOf(gate, callOf(name, input, terms)),
    ) as GuardedTools<Tools>["toolApproval"],
    resume: async (messages) => {
      const answers = await Promise.all(
        openRequests(messages).map(async ({ approvalId, toolCallId, toolName, input }) => {
          if (!Object.hasOwn(tools, toolName)) return null;
          const asked = await gate.ask(callOf(toolName, input, { toolCallId }));
          if (asked.kind === "suspended") return null;
          // A refused call must run, too: then the model reads the reason, and the refusal is recorded.
          return { type: "tool-approval-response", approvalId, approved: true };
        }),
      );
      if (answers.includes(null)) return null;
      const answer = { role: "tool", content: answers } as ChatMessage;
      return (answers.length === 0 ? [...messages] : [...messages, answer]) as (typeof messages)[number][];
    },
  };
}

function guarded(
  gate: ToolGate,
  name: string,
  tool: AiSdkTool,
  callOf: (name: string, args: unknown, options: CallOptions) => ToolCall,
): AiSdkTool {
  const { execute, needsApproval, toModelOutput } = tool;
  if (typeof execute !== "function") throw new TypeError(`${name} has no function to guard: it is executed elsewhere`);
  if (needsApproval !== undefined && needsApproval !== false)
    throw new TypeError(`${name} has a needsApproval of its own: remove it, and let a policy escalate the call`);
  refuseGenerator(name, execute);
  /** Notes on results that the model has not read yet. */
  const notes_of = new Map<string, readonly string[]>();
  return Object.create(Object.getPrototypeOf(tool), {
    ...Object.getOwnPropertyDescriptors(tool),
    execute: member(async (input: unknown, options: CallOptions) => {
      const answer = await gate.run(callOf(name, input, options), (args) => execute.call(tool, args, options));
      if (answer.kind === "ran") {
        if (answer.notes.length > 0) notes_of.set(options.toolCallId, answer.notes);
        return answer.result;
      }
      // The model reads the message of an error.
      throw new Error(answer.kind === "refused" ? answer.text : pendingText(answer));
    }),
    ...(gate.suspends && {
      needsApproval: member(
        // Version 6 asks again before it executes an approved call, and refuses the call if the answer is then false.
        async (input: unknown, options: CallOptions) =>
          isRequested(options) || isSuspended(gate, callOf(name, input, options)),
      ),
    }),
    toModelOutput: member(async (given: { readonly toolCallId: string; readonly output: unknown }) => {
      const { toolCallId, output } = given;
      const made: ModelOutput = await (toModelOutput === undefined
        ? plainOutput(output)
        : toModelOutput.call(tool, given));
      return withNotes(made, notes_of.get(toolCallId) ?? []);
    }),
  });
}

async function statusOf(gate: ToolGate, call: ToolCall): Promise<Status> {
  const asked = await gate.ask(call).catch(undecidedText);
  if (typeof asked === "string") return { type: "denied", reason: asked };
  if (asked.kind === "allowed") return undefined;
  if (asked.kind === "suspended") return { type: "user-approval", reason: pendingText(asked) };
  gate.skip(asked);
  return { type: "denied", reason: asked.text };
}

interface Request {
  readonly approvalId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
}

interface Part extends Partial<Request> {
  readonly type: string;
}

function partsOf(messages: readonly ChatMessage[]): Part[] {
  return messages.flatMap(({ content }) => (Array.isArray(content) ? (content as Part[]) : []));
}

function isRequested({ toolCallId, messages = [] }: CallOptions): boolean {
  return partsOf(messages).some((part) => part.type === "tool-approval-request" && part.toolCallId === toolCallId);
}

/** Returns the approval requests without an answer, with their calls. */
function openRequests(messages: readonly ChatMessage[]): Request[] {
  const parts = partsOf(messages);
  const answered = new Set(
    parts.filter(({ type }) => type === "tool-approval-response").map((part) => part.approvalId),
  );
  const calls = new Map(parts.filter(({ type }) => type === "tool-call").map((part) => [part.toolCallId, part]));
  return parts.flatMap((part) => {
    if (part.type !== "tool-approval-request" || answered.has(part.approvalId)) return [];
    return [{ ...calls.get(part.toolCallId), ...part } as Request];
  });
}
