/** The frame of the programs that run one agent framework each, in processes of their own. */

import { createClient } from "@countersign/sdk";
import type { StubCall } from "../models/stub-call.ts";

/** One conversation, in which the model calls `send_money` once. */
export interface Scenario {
  readonly amount_usd: number;
  readonly to: string;
  readonly call_id: string;
  readonly session: string;
  readonly review: "wait" | "suspend";
  /** True: the service cannot be reached. */
  readonly away?: boolean;
  /** True: guards the tool with guardrails instead of wrapping its function. */
  readonly guardrails?: boolean;
  /** The answer in the framework's own user interface, after which a suspended conversation resumes. */
  readonly answer?: object;
  /** The framework's saved state, if an earlier conversation was suspended. */
  readonly state?: string;
}

export interface Outcome {
  /** The calls of the tool. */
  readonly done: readonly Payment[];
  /** The tool's result as the model read it; null: the model was not asked again. */
  readonly read: string | null;
  /** The framework's saved state; null: the conversation ended. */
  readonly state: string | null;
}

interface Payment {
  readonly amount_usd: number;
  readonly to: string;
}

/** Returns a client of the service; if it is away, one that no service answers. */
export function client({ away = false }: Scenario) {
  const base_url = away ? "http://127.0.0.1:1" : (process.env["COUNTERSIGN_URL"] ?? "");
  return createClient({ base_url, api_key: process.env["COUNTERSIGN_API_KEY"] ?? "", retries_max: 0 });
}

/** The call of the scenario's model. The tool's schema removes the space, so that raw arguments and those of the tool differ. */
export function callOf({ call_id, amount_usd, to }: Scenario): StubCall {
  return { call_id, name: "send_money", args: { amount_usd, to: `${to} ` } };
}

let done: Payment[] = [];

/** A tool that records its calls. */
export function bank() {
  done = [];
  const send = ({ amount_usd, to }: Payment): string => {
    done.push({ amount_usd, to });
    return `sent ${amount_usd} USD to ${to}`;
  };
  return { done, send };
}

/** Runs the scenarios of the command line one after the other, and prints one line of JSON for each. */
export async function program(converse: (scenario: Scenario) => Promise<Outcome>): Promise<void> {
  for (const scenario of JSON.parse(process.argv[2] ?? "[]") as Scenario[]) {
    const outcome = await converse(scenario).catch(
      (error: unknown): Outcome => ({
        done,
        read: `threw ${error instanceof Error ? error.message : error}`,
        state: null,
      }),
    );
    process.stdout.write(`outcome: ${JSON.stringify(outcome)}\n`);
  }
  process.exit(0);
}
