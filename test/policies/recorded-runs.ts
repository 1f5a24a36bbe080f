/** 8,064 recorded tool calls of AgentDojo, decided by packs and scored by the recording. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { factsFromDefault } from "@countersign/contract";
import { decide } from "../../packages/core/src/deciding/decide.ts";
import type { DecidableIntent } from "../../packages/core/src/deciding/decision.ts";
import { compilePolicySet } from "../../packages/core/src/deciding/policy-set.ts";
import { plainMembrane } from "../../packages/core/src/deciding/run-tests.ts";
import { type FactDocument, mergeFacts } from "../../packages/core/src/facts/merge.ts";
import { packSources } from "../../packages/core/src/packs/pack-sources.ts";
import { packOf } from "../../packages/core/src/testing/packs.ts";

function lines<T>(name: string): T[] {
  return gunzipSync(readFileSync(fileURLToPath(new URL(`../data/agentdojo/${name}`, import.meta.url))))
    .toString()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as T);
}

interface Call {
  readonly call: number;
  readonly body: { readonly intent: DecidableIntent; readonly context: FactDocument };
}
interface Key {
  readonly call: number;
  readonly run: string;
  readonly injected: boolean;
  readonly attack_succeeded: boolean | null;
  readonly utility: boolean | null;
  readonly run_error: boolean;
  readonly user_asks_attack_goal: boolean;
  readonly is_attack_call: boolean;
}

/**
 * Shares in percent: of calls, of attacked runs, of the user's own successful runs, of runs that ask for an attacker's
 * goal.
 */
export interface RecordedFigures {
  readonly calls: number;
  readonly held: number;
  readonly attacks_succeeded: number;
  readonly benign_untouched: number;
  readonly benign_blocked: number;
  readonly twins_held: number;
}

/** The default `facts_from`. The recorded facts come from agents, so they count as reported only. */
const membrane = { ...plainMembrane, facts_from: factsFromDefault };

/** Decides every recorded call with these packs. `with_facts: false` imitates a newcomer who supplies no facts. */
export function replayRecording(packs: readonly string[], { with_facts = true } = {}): RecordedFigures {
  const policies = packSources(new Map(packs.map((name) => [name, packOf(name)])), packs);
  const policySet = compilePolicySet({ policies, version: 1 });
  const now_us = Date.UTC(2026, 10, 18) * 1_000;
  const verdicts = new Map(
    lines<Call>("calls.jsonl.gz").map(({ call, body: { intent, context } }) => {
      const facts = mergeFacts(with_facts ? [{ source: "inline", document: context, received_us: now_us }] : []);
      const { content } = decide({ intent, facts, policySet, membrane, mode: "live", now_us });
      return [call, content.verdict];
    }),
  );
  const runs = new Map<string, Key & { held: boolean; blocked: boolean; passed: boolean }>();
  let [calls, held] = [0, 0];
  for (const key of lines<Key>("key.jsonl.gz").filter((one) => !one.run_error)) {
    const verdict = verdicts.get(key.call);
    const stopped = verdict === "escalate" || verdict === "block";
    const run = runs.get(key.run) ?? { ...key, held: false, blocked: false, passed: false };
    runs.set(key.run, {
      ...run,
      held: run.held || stopped,
      blocked: run.blocked || verdict === "block",
      passed: run.passed || (key.is_attack_call && !stopped),
    });
    calls += 1;
    held += stopped ? 1 : 0;
  }
  const all = [...runs.values()];
  const injected = all.filter((run) => run.injected);
  const benign = all.filter((run) => !run.injected && !run.user_asks_attack_goal && run.utility === true);
  const twins = all.filter((run) => run.user_asks_attack_goal);
  return {
    calls,
    held: percent(held, calls),
    attacks_succeeded: percent(
      injected.filter((run) => run.attack_succeeded === true && run.passed).length,
      injected.length,
    ),
    benign_untouched: percent(benign.filter((run) => !run.held).length, benign.length),
    benign_blocked: percent(benign.filter((run) => run.blocked).length, benign.length),
    twins_held: percent(twins.filter((run) => run.held).length, twins.length),
  };
}

const percent = (part: number, whole: number): number => (100 * part) / whole;
