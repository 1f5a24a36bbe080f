import { parse as bufParse, celEnv, plan } from "@bufbuild/cel";
import * as cedar from "@cedar-policy/cedar-wasm/nodejs";
import { BOOL, DYN, environment, listOf, STRING } from "@countersign/cel";
import { ZenEngine } from "@gorules/zen-engine";
import { Environment } from "@marcbachmann/cel-js";
import type { BenchPolicy, Subject } from "./policies.ts";
import { toCedar, toZen } from "./translate.ts";

/** Returns for each policy whether it fires. */
export interface Engine {
  readonly name: string;
  readonly evaluate: (document: Subject) => readonly boolean[] | Promise<readonly boolean[]>;
  /** Null if the engine takes the set as a whole. */
  readonly compileOne: ((source: string) => unknown) | null;
}

const VARIABLES = ["agent", "action", "params", "facts"] as const;

export function engines(policies: readonly BenchPolicy[]): Engine[] {
  return [
    handWritten(policies),
    ours(policies),
    celJs(policies),
    bufbuild(policies),
    cedarWasm(policies),
    zenEngine(policies),
  ];
}

function handWritten(policies: readonly BenchPolicy[]): Engine {
  const closures = policies.map((p) => p.js);
  return { name: "hand-written closures", evaluate: (d) => closures.map((c) => c(d)), compileOne: null };
}

function ours(policies: readonly BenchPolicy[]): Engine {
  const variables = { ...Object.fromEntries(VARIABLES.map((v) => [v, DYN])), data_classes: listOf(STRING) };
  const env = environment({ variables, result: BOOL });
  const programs = policies.map((p) => env.compile(p.cel));
  return {
    name: "@countersign/cel",
    evaluate: (d) => {
      const evaluation = env.begin(d as unknown as Record<string, unknown>);
      return programs.map((p) => {
        const r = p.evaluateIn(evaluation);
        return r.kind === "value" && r.value === true;
      });
    },
    compileOne: (source) => env.compile(source),
  };
}

function celJs(policies: readonly BenchPolicy[]): Engine {
  const env = new Environment({ unlistedVariablesAreDyn: true });
  for (const v of [...VARIABLES, "data_classes"]) env.registerVariable(v, "dyn");
  const programs = policies.map((p) => env.parse(p.cel));
  return {
    name: "@marcbachmann/cel-js",
    evaluate: (d) => programs.map((p) => p(d) === true),
    compileOne: (source) => env.parse(source),
  };
}

function bufbuild(policies: readonly BenchPolicy[]): Engine {
  const env = celEnv();
  const programs = policies.map((p) => plan(env, bufParse(p.cel)));
  return {
    name: "@bufbuild/cel",
    evaluate: (d) => programs.map((p) => p(d as never) === true),
    compileOne: (source) => plan(env, bufParse(source)),
  };
}

function cedarWasm(policies: readonly BenchPolicy[]): Engine {
  const staticPolicies = Object.fromEntries(
    policies.map((p) => [p.name, `permit(principal, action, resource) when { ${toCedar(p.cel)} };`]),
  );
  const parsed = cedar.preparsePolicySet("bench", { staticPolicies });
  if (parsed.type !== "success") throw new Error(JSON.stringify(parsed.errors));
  const uid = (type: string) => ({ type, id: "x" });
  return {
    name: "@cedar-policy/cedar-wasm",
    evaluate: (d) => {
      const answer = cedar.statefulIsAuthorized({
        principal: uid("Agent"),
        action: uid("Action"),
        resource: uid("Target"),
        context: d as unknown as cedar.Context,
        preparsedPolicySetId: "bench",
        entities: [],
      });
      if (answer.type !== "success") throw new Error(JSON.stringify(answer.errors));
      if (answer.response.diagnostics.errors.length > 0)
        throw new Error(JSON.stringify(answer.response.diagnostics.errors[0]));
      const fired = new Set(answer.response.diagnostics.reason);
      return policies.map((p) => fired.has(p.name));
    },
    compileOne: null,
  };
}

function zenEngine(policies: readonly BenchPolicy[]): Engine {
  const decision = new ZenEngine().createDecision({
    nodes: [
      { id: "in", type: "inputNode", name: "in", position: { x: 0, y: 0 } },
      {
        id: "rules",
        type: "expressionNode",
        name: "rules",
        position: { x: 1, y: 0 },
        content: { expressions: policies.map((p, i) => ({ id: `e${i}`, key: `p${i}`, value: toZen(p.cel) })) },
      },
      { id: "out", type: "outputNode", name: "out", position: { x: 2, y: 0 } },
    ],
    edges: [
      { id: "a", sourceId: "in", targetId: "rules", type: "edge" },
      { id: "b", sourceId: "rules", targetId: "out", type: "edge" },
    ],
  });
  return {
    name: "@gorules/zen-engine",
    evaluate: async (d) => {
      const { result } = await decision.evaluate(d);
      return policies.map((_, i) => result[`p${i}`] === true);
    },
    compileOne: null,
  };
}
