/** Puts the service between an agent's framework and its tools. No framework is needed here: tools are told by their shape. */
import type { ContextDocument, Execution, Intent } from "@countersign/contract";
import { type CarryOutOptions, ClaimedBefore, carryOut, type DecidingClient } from "./carry-out.ts";
import { type ActionContent, plainContent } from "./plain-content.ts";

/** What is asked about every call of a guarded tool. */
export interface GuardOptions
  extends Pick<CarryOutOptions<unknown>, "withdraw" | "onPending" | "onMessage" | "onUnrecorded"> {
  readonly agent: Intent["agent"];
  readonly membrane_id?: string;
  readonly mode?: "shadow";
  /** What is known at the time of a call, for policies. */
  readonly context?: (verb: string, params: ActionContent) => ContextDocument | Promise<ContextDocument>;
  /** What else the intent of a call says: type and target of its action, a summary for reviewers, its impact. */
  readonly describe?: (verb: string, params: ActionContent) => CallDescription;
}

/** Beside the agent, the verb and the parameters, which are those of the call. */
export interface CallDescription extends Pick<Partial<Intent>, "estimated_impact" | "data_classes"> {
  readonly type?: string;
  readonly target?: NonNullable<Intent["action"]["target"]>;
  readonly summary?: string;
}

/** A tool as the AI SDK has it, and whatever else keeps its function under `execute`. */
export interface ExecutableTool {
  // biome-ignore lint/suspicious/noExplicitAny: what a framework hands on is its own matter
  readonly execute?: ((params: any, options: any) => unknown) | undefined;
}

/** Guards tools. */
export interface Guard {
  /**
   * The same function, asked about before each call. Its first argument is an object with the parameters, as JSON can write them;
   * the rest is handed on, and where one of them has an AbortSignal as `signal` or `abortSignal`, that ends the waiting. Throws
   * `ActionBlocked` in place of a call that may not be made, `ClaimedBefore` in place of one that was made before, a TypeError for parameters that would be decided on as others, and
   * what the client throws where there is no decision.
   */
  fn<Params extends object, Rest extends unknown[], Result>(
    verb: string,
    run: (params: Params, ...rest: Rest) => Result | Promise<Result>,
  ): (params: Params, ...rest: Rest) => Promise<Result>;
  /**
   * The same tools, by their names, with their `execute` guarded. Throws a TypeError for one without a function, which runs
   * elsewhere, and for one that gives its result in parts.
   */
  tools<Tools extends Readonly<Record<string, ExecutableTool>>>(tools: Tools): Tools;
}

/** Makes a guard for one agent. */
export function createGuard(client: DecidingClient, options: GuardOptions): Guard {
  const { agent, membrane_id, mode, context, describe, withdraw, onPending, onMessage, onUnrecorded } = options;

  function fn<Params extends object, Rest extends unknown[], Result>(
    verb: string,
    run: (params: Params, ...rest: Rest) => Result | Promise<Result>,
  ): (params: Params, ...rest: Rest) => Promise<Result> {
    if (/^(?:Async)?GeneratorFunction$/.test(run.constructor.name)) throw inParts(verb);
    return async (params, ...rest) => {
      // As it was when it was called: `context` may take its time.
      const content = plainContent(params ?? {});
      const { type, target, summary, ...said } = describe?.(verb, content) ?? {};
      const known = await context?.(verb, content);
      const submission = {
        intent: {
          ...said,
          agent,
          action: { verb, ...(type !== undefined && { type }), ...(target !== undefined && { target }) },
          payload: { content, ...(summary !== undefined && { summary }) },
        },
        ...(known !== undefined && { context: known }),
        ...(membrane_id !== undefined && { membrane_id }),
      };
      const signal = rest.map(signalIn).find((each) => each !== undefined);
      const once = async (approved: ActionContent) => {
        const result = await run(approved as Params, ...rest);
        if (comesInParts(result)) throw inParts(verb);
        return result;
      };
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
          throw new TypeError(`${verb} has no function to guard: it is carried out elsewhere`);
        // With its prototype: tools that are instances of a class have methods, too. They run on the guarded one: run on the
        // tool they would have its #private members, and an `execute` that nobody asks about.
        const own = { value: fn(verb, execute.bind(tool)), writable: true, enumerable: true, configurable: true };
        const members = { ...Object.getOwnPropertyDescriptors(tool), execute: own };
        return [verb, Object.create(Object.getPrototypeOf(tool), members)];
      });
      return Object.fromEntries(guarded) as typeof tools;
    },
  };
}

/** By its shape: a stream, what else is read asynchronously, or a generator, which of an older target of a compiler is an object. */
function comesInParts(result: unknown): boolean {
  if (typeof result !== "object" || result === null) return false;
  const made = result as { readonly [name: PropertyKey]: unknown };
  const hasAll = (...names: PropertyKey[]) => names.every((name) => typeof made[name] === "function");
  return hasAll(Symbol.asyncIterator) || hasAll(Symbol.iterator, "next", "return", "throw");
}

/** What such a function does, it does after it was called: neither asked about nor recorded could it be. */
function inParts(verb: string): TypeError {
  return new TypeError(`${verb} gives its result in parts: what it does could not be told from what it says`);
}

/** Of the options that a framework hands to a tool. */
function signalIn(given: unknown): AbortSignal | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  const { signal, abortSignal } = given as { readonly signal?: unknown; readonly abortSignal?: unknown };
  return [given, abortSignal, signal].find((each): each is AbortSignal => each instanceof AbortSignal);
}
