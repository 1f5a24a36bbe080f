/**
 * Puts the service between an agent's framework and its tools. Recognises tools by their shape, so that no framework is
 * needed.
 */
import type { ContextDocument, Execution, Intent, IntentSubmission } from "@countersign/contract";
import { type CarryOutOptions, ClaimedBefore, carryOut, type DecidingClient } from "./carry-out.ts";
import { type ActionContent, plainContent } from "./plain-content.ts";

/** The common parts of all submissions. */
export interface SubmissionTerms {
  readonly agent: Intent["agent"];
  readonly membrane_id?: string;
  readonly mode?: "shadow";
  readonly context?: (verb: string, params: ActionContent) => ContextDocument | Promise<ContextDocument>;
  /** Returns further members of the intent: type and target of the action, a summary for reviewers, its impact. */
  readonly describe?: (verb: string, params: ActionContent) => CallDescription;
}

/** Options of `createGuard`. */
export interface GuardOptions
  extends SubmissionTerms,
    Pick<CarryOutOptions<unknown>, "withdraw" | "onPending" | "onMessage" | "onUnrecorded"> {}

/** Members of an intent besides the agent, the verb and the parameters. */
export interface CallDescription extends Pick<Partial<Intent>, "estimated_impact" | "data_classes"> {
  readonly type?: string;
  readonly target?: NonNullable<Intent["action"]["target"]>;
  readonly summary?: string;
}

/** A tool of the AI SDK, or any other object with its function under `execute`. */
export interface ExecutableTool {
  // biome-ignore lint/suspicious/noExplicitAny: what a framework hands on is its own matter
  readonly execute?: ((params: any, options: any) => unknown) | undefined;
}

export interface Guard {
  /**
   * Returns a function that submits each call before it runs. The first argument is an object with the parameters,
   * which must be valid JSON. The other arguments are passed on. An AbortSignal among them, or in their `signal` or
   * `abortSignal`, ends the wait.
   *
   * Throws `ActionBlocked` for a refused call, `ClaimedBefore` for one that was already claimed, a TypeError for
   * parameters that JSON would change, and the client's errors.
   */
  fn<Params extends object, Rest extends unknown[], Result>(
    verb: string,
    run: (params: Params, ...rest: Rest) => Result | Promise<Result>,
  ): (params: Params, ...rest: Rest) => Promise<Result>;
  /**
   * Returns the same tools with `execute` guarded. Throws a TypeError for a tool without a function, which runs
   * elsewhere, and for one that returns its result in parts.
   */
  tools<Tools extends Readonly<Record<string, ExecutableTool>>>(tools: Tools): Tools;
}

/** Creates a guard for one agent. */
export function createGuard(client: DecidingClient, options: GuardOptions): Guard {
  const { mode, withdraw, onPending, onMessage, onUnrecorded } = options;

  function fn<Params extends object, Rest extends unknown[], Result>(
    verb: string,
    run: (params: Params, ...rest: Rest) => Result | Promise<Result>,
  ): (params: Params, ...rest: Rest) => Promise<Result> {
    refuseGenerator(verb, run);
    return async (params, ...rest) => {
      // Copied now, because `context` may take time.
      const content = plainContent(params ?? {});
      const submission = await submissionOf(options, verb, content);
      const signal = rest.map(signalIn).find((each) => each !== undefined);
      const once = async (approved: ActionContent) => wholeResult(verb, await run(approved as Params, ...rest));
      const onDoneBefore = (execution: Execution, intent_id: string): never => {
        throw new ClaimedBefore(intent_id, execution);
      };
      return carryOut(client, submission, once, {
        ...{ mode, signal, withdraw, onDoneBefore },
        ...(onPending !== undefined && { onPending }),
        ...(onMessage !== undefined && { onMessage }),
        ...(onUnrecorded !== undefined && { onUnrecorded }),
      });
    };
  }

  return {
    fn,
    tools(tools) {
      const guarded = Object.entries(tools).map(([verb, tool]) => {
        const { execute } = tool;
        if (typeof execute !== "function")
          throw new TypeError(`${verb} has no function to guard: it is executed elsewhere`);
        // Keeps the prototype, because tools may be instances of a class. Methods run on the guarded object: the
        // original has #private members, but also the unguarded `execute`.
        const own = { value: fn(verb, execute.bind(tool)), writable: true, enumerable: true, configurable: true };
        const members = { ...Object.getOwnPropertyDescriptors(tool), execute: own };
        return [verb, Object.create(Object.getPrototypeOf(tool), members)];
      });
      return Object.fromEntries(guarded) as typeof tools;
    },
  };
}

/** Returns the submission of one call. `content` is the call's parameters as valid JSON. */
export async function submissionOf(
  { agent, membrane_id, context, describe }: SubmissionTerms,
  verb: string,
  content: ActionContent,
): Promise<IntentSubmission> {
  const { type, target, summary, ...said } = describe?.(verb, content) ?? {};
  const known = await context?.(verb, content);
  return {
    intent: {
      ...said,
      agent,
      action: { verb, ...(type !== undefined && { type }), ...(target !== undefined && { target }) },
      payload: { content, ...(summary !== undefined && { summary }) },
    },
    ...(known !== undefined && { context: known }),
    ...(membrane_id !== undefined && { membrane_id }),
  };
}

/** Throws a TypeError for a generator function, before its first call. */
export function refuseGenerator(verb: string, run: (...given: never[]) => unknown): void {
  if (/^(?:Async)?GeneratorFunction$/.test(run.constructor.name)) throw inParts(verb);
}

/** Returns the result. Throws a TypeError if it comes in parts. */
export function wholeResult<Result>(verb: string, result: Result): Result {
  if (comesInParts(result)) throw inParts(verb);
  return result;
}

/**
 * Recognises a stream, an asynchronous iterable or a generator by its shape, because older compiler targets compile
 * generators to objects.
 */
function comesInParts(result: unknown): boolean {
  if (typeof result !== "object" || result === null) return false;
  const made = result as { readonly [name: PropertyKey]: unknown };
  const hasAll = (...names: PropertyKey[]) => names.every((name) => typeof made[name] === "function");
  return hasAll(Symbol.asyncIterator) || hasAll(Symbol.iterator, "next", "return", "throw");
}

/** The function would act after its call, so its actions could neither be submitted nor recorded. */
function inParts(verb: string): TypeError {
  return new TypeError(`${verb} returns its result in parts: its actions cannot be separated from its output`);
}

/** Finds the signal in the options from a framework. */
function signalIn(given: unknown): AbortSignal | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  const { signal, abortSignal } = given as { readonly signal?: unknown; readonly abortSignal?: unknown };
  return [given, abortSignal, signal].find((each): each is AbortSignal => each instanceof AbortSignal);
}
