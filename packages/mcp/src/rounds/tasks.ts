/**
 * Tasks: calls whose result comes later. Source: revision 2025-11-25, and the extension io.modelcontextprotocol/tasks.
 * The outcome of a task is recorded once, when one of these tells it: `tasks/get`, `tasks/result`, `tasks/cancel`, a
 * notification. An error of these methods is no outcome, because the task may still run.
 */
import type { ObservationInput } from "@countersign/contract";
import { annotatedAnswer, annotatedTask } from "../calls/annotated-answer.ts";
import { isObject, type Json, type JsonObject } from "../protocol/messages.ts";
import { remember } from "../remember.ts";

export interface Task {
  readonly intent_id: string;
  /** Texts for the model, at the end of the result. */
  readonly texts: readonly string[];
}

const taskMethods: readonly string[] = ["tasks/get", "tasks/result", "tasks/cancel"];
const notifications: readonly unknown[] = ["notifications/tasks", "notifications/tasks/status"];

export const isTaskMethod = (method: string): boolean => taskMethods.includes(method);

export class Tasks {
  readonly #record: (intent_id: string, observation: ObservationInput) => void;
  readonly #tasks = new Map<string, Task & { is_over: boolean }>();

  constructor(record: (intent_id: string, observation: ObservationInput) => void) {
    this.#record = record;
  }

  /** `state`: the task as the server created it. */
  begin(task_id: string, task: Task, state: JsonObject): void {
    remember(this.#tasks, task_id, { ...task, is_over: false });
    this.#hear(task_id, outcomeOf(state));
  }

  /** Takes the result of a client's request about a task. */
  learn(method: string, task_id: string, result: JsonObject): void {
    this.#hear(task_id, method === "tasks/result" ? outcomeOfResult(result) : outcomeOf(result));
  }

  /** Returns how to add texts to the answer to such a request; undefined: nothing to add. */
  additionTo(method: string, task_id: string): ((line: string) => string) | undefined {
    const task = this.#tasks.get(task_id);
    if (task === undefined || task.texts.length === 0 || method === "tasks/cancel") return undefined;
    const annotate = method === "tasks/result" ? annotatedAnswer : annotatedTask;
    return (line) => annotate(line, task.texts, task.intent_id);
  }

  /** Returns the server's notification, with texts if it has the result of a task. */
  notified({ method, params }: JsonObject, line: string): string {
    if (!notifications.includes(method) || !isObject(params)) return line;
    const task_id = String(params["taskId"]);
    this.#hear(task_id, outcomeOf(params));
    try {
      return this.additionTo("tasks/get", task_id)?.(line) ?? line;
    } catch (error) {
      // Nested too deep. `tasks/get` reports that.
      if (!(error instanceof RangeError)) throw error;
      return line;
    }
  }

  #hear(task_id: string, outcome: ObservationInput | null): void {
    const task = this.#tasks.get(task_id);
    if (task === undefined || task.is_over || outcome === null) return;
    task.is_over = true;
    this.#record(task.intent_id, outcome);
  }
}

/** Returns the outcome in a state of a task; null: it goes on. */
function outcomeOf({ status, statusMessage, error, result }: JsonObject): ObservationInput | null {
  if (status === "completed") return outcomeOfResult(result);
  if (status === "cancelled") return { status: "failed", detail: "The task was cancelled." };
  if (status !== "failed") return null;
  const why = [isObject(error) ? error["message"] : null, statusMessage].find((each) => typeof each === "string");
  return { status: "failed", detail: `The task failed: ${why ?? "without a reason"}` };
}

function outcomeOfResult(result: Json | undefined): ObservationInput {
  const failed = isObject(result) && result["isError"] === true;
  return failed ? { status: "failed", detail: "the tool reports a failure" } : { status: "executed" };
}
