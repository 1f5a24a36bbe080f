/** Guards the tools of LangChain and LangGraph agents as a middleware. */
import { ApiError } from "../errors.ts";
import { normalized } from "./standard-schema.ts";
import {
  createToolGate,
  type GateClient,
  type GateOptions,
  type Review,
  type ToolCall,
  type ToolGate,
  textWithNotes,
} from "./tool-gate.ts";

export type { GateClient, GateOptions, Review };

export interface LangChainOptions extends GateOptions {
  /** `interrupt` of `@langchain/langgraph`. Needed if `review` is `suspend`. */
  readonly interrupt?: (value: HumanRequest) => unknown;
}

/** The envelope that LangChain's own human-in-the-loop middleware uses, so that its user interfaces show it. */
export interface HumanRequest {
  readonly actionRequests: {
    readonly name: string;
    readonly args: Record<string, unknown>;
    readonly description: string;
  }[];
  readonly reviewConfigs: { readonly actionName: string; readonly allowedDecisions: ("approve" | "reject")[] }[];
  /** The review in Countersign, which alone approves the call. */
  readonly countersign: Review;
}

interface Request {
  readonly toolCall: {
    readonly id?: string | undefined;
    readonly name: string;
    readonly args: Record<string, unknown>;
  };
  readonly tool?: object | undefined;
  readonly runtime: object;
}

export interface CountersignMiddleware {
  readonly name: string;
  // biome-ignore lint/suspicious/noExplicitAny: requests and results are the framework's own types
  readonly wrapToolCall: (request: any, handler: (request: any) => any) => Promise<any>;
}

/**
 * Returns the argument of LangChain's `createMiddleware`. Put it last in `middleware`, so that no other middleware
 * changes a decided call.
 */
export function countersignMiddleware(client: GateClient, options: LangChainOptions): CountersignMiddleware {
  const { interrupt } = options;
  const gate = createToolGate(client, "langchain", options);
  if (gate.suspends && interrupt === undefined)
    throw new TypeError("`review: suspend` needs the option `interrupt`: import it from @langchain/langgraph");
  return {
    name: "countersign",
    wrapToolCall: async (request: Request, handler: (request: Request) => unknown) => {
      const { toolCall } = request;
      const call = await callOf(request);
      // The tool converts its arguments itself, so unchanged ones must reach it as the model wrote them.
      const execute = (args: Readonly<Record<string, unknown>>, { changed }: { readonly changed: boolean }) =>
        handler(changed ? { ...request, toolCall: { ...toolCall, args: { ...args } } } : request);
      // The framework itself makes the message, so that this package does not depend on its classes.
      const message = (text: string) =>
        handler({ ...request, tool: { name: toolCall.name, invoke: async () => text } });
      const refusal = async (text: string) => asError(await message(text));
      for (;;) {
        const review = interrupt !== undefined && gate.suspends ? await reviewOf(gate, call) : null;
        if (review !== null && interrupt !== undefined) {
          // The first time this throws and ends the run. After a resumption it returns the answer to the interrupt, which
          // must be read before the call runs, because it may be a rejection.
          const rejection = rejectionIn(interrupt(requestOf(toolCall, review)));
          if (rejection !== null) return refusal(await withdrawn(client, gate, review, rejection));
        }
        const answer = await gate.run(call, execute);
        if (answer.kind === "ran") return addNotes(answer.result, toolCall.id, answer.notes);
        if (answer.kind === "refused") return refusal(answer.text);
      }
    },
  };
}

/** Returns the review of a call that people decide or have approved; null: the call needs no interrupt. */
async function reviewOf(gate: ToolGate, call: ToolCall): Promise<Review | null> {
  const asked = await gate.ask(call);
  if (asked.kind === "suspended") return asked.review;
  return asked.kind === "allowed" ? asked.reviewed : null;
}

async function callOf({ toolCall, tool, runtime }: Request): Promise<ToolCall> {
  const { configurable, signal } = runtime as {
    readonly configurable?: { readonly thread_id?: unknown };
    readonly signal?: AbortSignal;
  };
  const session = configurable?.thread_id;
  const args = await normalized((tool as { readonly schema?: unknown } | undefined)?.schema, toolCall.args);
  return {
    ...{ name: toolCall.name, args, call_id: toolCall.id, signal },
    session: session === undefined ? undefined : String(session),
  };
}

function requestOf({ name, args }: Request["toolCall"], review: Review): HumanRequest {
  const description = `Waits for review ${review.escalation_id ?? review.intent_id} in Countersign. Decide it there, then resume.`;
  return {
    actionRequests: [{ name, args, description }],
    reviewConfigs: [{ actionName: name, allowedDecisions: ["approve", "reject"] }],
    countersign: review,
  };
}

/** Returns the reason of a rejection in the envelope; null for every other answer, because only the service approves. */
function rejectionIn(answer: unknown): string | null {
  const decisions = (answer as { readonly decisions?: readonly { type?: string; message?: string }[] } | null)
    ?.decisions;
  const rejection = Array.isArray(decisions) ? decisions.find(({ type }) => type === "reject") : undefined;
  return rejection === undefined ? null : (rejection.message ?? "The call was rejected.");
}

/** Withdraws the call from review. It does not run, even if reviewers have approved it. */
async function withdrawn(client: GateClient, gate: ToolGate, review: Review, reason: string): Promise<string> {
  const { intent_id, escalation_id } = review;
  try {
    if (escalation_id !== null) await client.withdrawEscalation(escalation_id, { reason });
  } catch (error) {
    if (!(error instanceof ApiError && error.code === "escalation_closed")) throw error;
  }
  gate.skip(review);
  return `Rejected, nothing was done. ${reason} Do not repeat this call. (${intent_id})`;
}

interface ToolMessage {
  content?: unknown;
  status?: string;
  tool_call_id?: string | undefined;
}

function asError(message: unknown): unknown {
  (message as ToolMessage).status = "error";
  return message;
}

/** Adds the notes to the tool's message, which may be inside a command. */
function addNotes(result: unknown, id: string | undefined, notes: readonly string[]): unknown {
  if (notes.length === 0) return result;
  const { update } = result as { readonly update?: { readonly messages?: unknown } };
  const inner = Array.isArray(update?.messages) ? (update.messages as ToolMessage[]) : [];
  for (const message of [result as ToolMessage, ...inner].filter((each) => each.tool_call_id === id)) {
    const { content } = message;
    message.content = Array.isArray(content)
      ? [...content, ...notes.map((text) => ({ type: "text", text }))]
      : textWithNotes(content, notes);
  }
  return result;
}
