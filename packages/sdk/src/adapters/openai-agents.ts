/** Guards function tools of the OpenAI Agents SDK for JavaScript. */
import { ApiError, ConnectionError } from "../errors.ts";
import { refuseGenerator } from "../guard.ts";
import { normalized, type StandardSchema } from "./standard-schema.ts";
import {
  type Admitted,
  createToolGate,
  type GateClient,
  type GateOptions,
  isSuspended,
  pendingText,
  type Review,
  type ToolCall,
  type ToolGate,
  textWithNotes,
  undecidedText,
} from "./tool-gate.ts";

export type { GateClient, GateOptions, Review };

export interface OpenAiAgentsOptions extends GateOptions {
  /** The id of the conversation, or a function that takes it from the run's context. */
  // biome-ignore lint/suspicious/noExplicitAny: the context is the caller's own type
  readonly session?: string | ((context: any) => string | undefined);
}

interface RunContext {
  readonly context: unknown;
}

interface CallDetails {
  readonly toolCall?: { readonly callId: string } | undefined;
  readonly signal?: AbortSignal | undefined;
}

// biome-ignore-start lint/suspicious/noExplicitAny: parameters, contexts and results are the caller's own types
type ParamsOf<Schema> = Schema extends StandardSchema<infer Output> ? Output : any;

interface FunctionOptions<Schema> {
  readonly name: string;
  readonly parameters: Schema;
  readonly execute: (params: ParamsOf<Schema>, context?: any, details?: any) => unknown;
  readonly errorFunction?: ((context: any, error: unknown, details?: any) => any) | null;
  readonly needsApproval?: never;
  readonly outputSchema?: never;
}

interface Guarded {
  readonly execute: (params: any, context?: any, details?: any) => Promise<any>;
  readonly needsApproval: (context: any, params: any, call_id?: string) => Promise<boolean>;
  readonly errorFunction: ((context: any, error: unknown, details?: any) => any) | null;
}
// biome-ignore-end lint/suspicious/noExplicitAny: see above

/** The part of a run's state that `resume` uses. */
interface RunState<Item> {
  getInterruptions(): readonly Item[];
  approve(item: Item): void;
}

interface FunctionCall {
  readonly name: string;
  readonly callId: string;
  readonly arguments: string;
}

interface GuardrailData {
  readonly context: RunContext;
  readonly toolCall: FunctionCall;
}

interface GuardrailOutput {
  readonly behavior: { readonly type: "allow" } | { readonly type: "rejectContent"; readonly message: string };
}

interface Guardrail {
  readonly name: string;
  readonly run: (data: GuardrailData) => Promise<GuardrailOutput>;
}

export interface OpenAiAgentsGuard {
  /** Returns the options for the framework's `tool()`, with `execute` guarded. */
  tool<Schema, Options extends object>(options: Options & FunctionOptions<Schema>): Options & Guarded;
  /**
   * Approves the interruptions of a run's state, after reviewers decided. Returns false while one of them is open,
   * because its review is, or because this guard does not guard its tool. `context` is the context of the run, for a
   * `session` function.
   */
  resume<Item extends { readonly rawItem: object }>(state: RunState<Item>, context?: unknown): Promise<boolean>;
  /**
   * Guardrails for a tool whose function you cannot wrap, with the `parameters` of the tool. They cannot change
   * arguments, so they ask the model to call the tool again with the changed ones.
   */
  guardrails(parameters: object): { readonly inputGuardrails: Guardrail[]; readonly outputGuardrails: Guardrail[] };
}

/** Creates a guard for the function tools of one agent. */
export function createOpenAiGuard(client: GateClient, options: OpenAiAgentsOptions): OpenAiAgentsGuard {
  const { session } = options;
  const gate = createToolGate(client, "openai-agents", options);
  const schemas = new Map<string, unknown>();
  const sessionOf = (context: unknown) => (typeof session === "function" ? session(context) : session);
  return {
    tool: (given) => {
      const { name, parameters, execute, errorFunction = errorText } = given;
      refuseGenerator(name, execute);
      schemas.set(name, parameters);
      const callOf = (
        args: unknown,
        run: RunContext | undefined,
        call_id?: string,
        signal?: AbortSignal,
      ): ToolCall => ({
        ...{ name, args, call_id, signal, session: sessionOf(run?.context) },
      });
      const guarded: Guarded = {
        execute: async (params, context?: RunContext, details?: CallDetails) => {
          const call = callOf(params, context, details?.toolCall?.callId, details?.signal);
          const answer = await gate.run(call, (args) => execute.call(given, args as never, context, details));
          if (answer.kind === "refused") return answer.text;
          if (answer.kind === "suspended") return pendingText(answer);
          return answer.notes.length === 0 ? answer.result : textWithNotes(answer.result, answer.notes);
        },
        needsApproval: (context, params, call_id) => isSuspended(gate, callOf(params, context, call_id)),
        errorFunction,
      };
      return { ...given, ...guarded };
    },

    resume: async (state, context) => {
      const answers = state.getInterruptions().map(async (item) => {
        const { name, callId: call_id, arguments: text } = item.rawItem as FunctionCall;
        if (!schemas.has(name)) return false;
        const args = await normalized(schemas.get(name), JSON.parse(text));
        const asked = await gate.ask({ name, args, call_id, session: sessionOf(context) });
        if (asked.kind !== "suspended") state.approve(item);
        return asked.kind !== "suspended";
      });
      return !(await Promise.all(answers)).includes(false);
    },

    guardrails: (parameters) => guardrailsOf(gate, sessionOf, parameters),
  };
}

/** The framework's own text asks the model to try again, and does not say that nothing was done. */
function errorText(_: unknown, error: unknown): string {
  if (error instanceof ApiError || error instanceof ConnectionError) return undecidedText(error);
  return "An error occurred while running the tool.";
}

function guardrailsOf(gate: ToolGate, sessionOf: (context: unknown) => string | undefined, parameters: object) {
  const admitted = new Map<string, Admitted>();
  const reject = (message: string): GuardrailOutput => ({ behavior: { type: "rejectContent", message } });
  const callOf = async ({ context, toolCall }: GuardrailData): Promise<ToolCall> => ({
    ...{ name: toolCall.name, call_id: toolCall.callId, session: sessionOf(context.context) },
    // The tool runs with these arguments, so the decision must not be about the raw ones.
    args: await normalized(parameters, JSON.parse(toolCall.arguments)),
  });
  const input = async (data: GuardrailData): Promise<GuardrailOutput> => {
    const call = await callOf(data);
    const asked = await gate.ask(call);
    if (asked.kind === "allowed" && asked.changed)
      return reject(
        `Nothing was done. Countersign allows this call with other arguments. If they suit the user, call the tool again with exactly these: ${JSON.stringify(asked.args)}`,
      );
    const answer = await gate.admit(call);
    if (answer.kind === "refused") return reject(answer.text);
    if (answer.kind === "suspended") return reject(pendingText(answer));
    admitted.set(data.toolCall.callId, answer);
    return { behavior: { type: "allow" } };
  };
  const output = async ({ toolCall }: GuardrailData): Promise<GuardrailOutput> => {
    admitted.get(toolCall.callId)?.succeeded();
    admitted.delete(toolCall.callId);
    return { behavior: { type: "allow" } };
  };
  return {
    inputGuardrails: [{ name: "countersign", run: input }],
    outputGuardrails: [{ name: "countersign", run: output }],
  };
}
