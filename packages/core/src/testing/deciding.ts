import type { Assurance } from "@countersign/contract";
import { decide } from "../deciding/decide.ts";
import type { Decided, DecideInput, MembraneSettings } from "../deciding/decision.ts";
import { compilePolicySet } from "../deciding/policy-set.ts";
import { plainMembrane } from "../deciding/run-tests.ts";
import { type FactDocument, type FactSource, type InexactFacts, mergeFacts } from "../facts/merge.ts";
import { checkPolicy } from "../policy/check/check.ts";
import type { PolicySource } from "../policy/compile.ts";
import { parseTimestampUs } from "../time.ts";

/** A live test policy: its spec and optional overrides. */
export interface TestPolicy {
  readonly name: string;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly mode?: "live" | "shadow";
  readonly pack?: string;
}

export interface TestCase {
  readonly now?: string;
  readonly intent?: { readonly action?: object; readonly content?: Record<string, unknown> | null } & Readonly<
    Record<string, unknown>
  >;
  readonly facts?: object;
  readonly as_of?: object;
  readonly sources?: readonly {
    readonly source: FactSource;
    readonly facts: object;
    readonly as_of?: object;
    readonly received?: string;
    readonly inexact?: InexactFacts;
    readonly assurance?: Assurance;
    readonly respelled?: boolean;
  }[];
  readonly membrane?: Partial<MembraneSettings>;
  readonly mode?: "live" | "shadow" | "test";
  readonly overrides?: readonly string[];
  readonly attested?: boolean;
  readonly human_reviewed?: boolean;
  readonly cost_budget?: number;
}

/** Default time. */
export const noon = "2026-11-18T12:00:00Z";

/** Cached, because checking takes half the time of a property test. */
const sources = new WeakMap<TestPolicy, PolicySource>();

/** Checks a policy once per object, with the id `pol_<name>`. Throws all diagnostics. */
export function policySource(policy: TestPolicy): PolicySource {
  const known = sources.get(policy);
  if (known !== undefined) return known;
  const source = checkedSource(policy);
  sources.set(policy, source);
  return source;
}

function checkedSource({ name, spec, metadata, mode, pack }: TestPolicy): PolicySource {
  const checked = checkPolicy({ apiVersion: "countersign/v1", kind: "Policy", metadata: { name, ...metadata }, spec });
  if (checked.document === null) throw new Error(`${name}: ${JSON.stringify(checked.diagnostics, null, 1)}`);
  return { policy_id: `pol_${name}`, version: 1, document: checked.document, mode: mode ?? "live", pack: pack ?? null };
}

export function inputOf(policies: readonly TestPolicy[], given: TestCase = {}): DecideInput {
  const now_us = parseTimestampUs(given.now ?? noon) ?? Number.NaN;
  const { content, action, ...intent } = given.intent ?? {};
  const facts = given.sources ?? [{ source: "org" as const, facts: given.facts ?? {}, as_of: given.as_of ?? {} }];
  return {
    intent: {
      agent: { id: "agent-1" },
      action: { type: "payment.transfer", verb: "send_money", ...action },
      ...(content === null ? {} : { payload: { content: content ?? {} } }),
      ...intent,
    },
    facts: mergeFacts(
      facts.map((source) => ({
        source: source.source,
        document: { facts: source.facts, as_of: source.as_of ?? {} } as FactDocument,
        inexact: (source as { inexact?: InexactFacts }).inexact,
        assurance: (source as { assurance?: Assurance }).assurance,
        respelled: (source as { respelled?: boolean }).respelled ?? false,
        received_us:
          (source as { received?: string }).received === undefined
            ? now_us
            : (parseTimestampUs((source as { received: string }).received) ?? 0),
      })),
    ),
    policySet: compilePolicySet({ policies: policies.map(policySource), version: 1 }),
    membrane: { ...plainMembrane, ...given.membrane },
    mode: given.mode ?? "live",
    now_us,
    overrides: given.overrides ?? [],
    attested: given.attested ?? false,
    human_reviewed: given.human_reviewed ?? false,
    ...(given.cost_budget === undefined ? {} : { cost_budget: given.cost_budget }),
  };
}

export function decideCase(policies: readonly TestPolicy[], given: TestCase = {}): Decided {
  return decide(inputOf(policies, given));
}
