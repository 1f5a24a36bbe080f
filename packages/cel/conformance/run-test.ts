import { DYN, sameType, type Type, typeName } from "../src/check/type.ts";
import { CelCheckError, CelSyntaxError } from "../src/diagnostics.ts";
import { environment, type HostFunction } from "../src/environment.ts";
import { NonValue, Unknown } from "../src/value/unknown.ts";
import type { Value } from "../src/value/value.ts";
import type { SpecTest } from "./suite.ts";
import { fromSpec, sameValue, typeFromSpec } from "./values.ts";

/** Returns why a test failed, or null if it passed. */
export function runTest(test: SpecTest): string | null {
  const expectsError = test.evalError !== undefined;
  let found: Value;
  try {
    const env = environmentOf(test);
    if (test.typedResult?.deducedType !== undefined) {
      const { type, diagnostics } = env.check(test.expr);
      const wrong = diagnostics.find((d) => d.severity === "error");
      if (wrong !== undefined) return `check: ${wrong.message}`;
      const expected = typeFromSpec(test.typedResult.deducedType);
      if (!sameType(type, expected)) return `type is ${typeName(type)}, expected ${typeName(expected)}`;
    }
    if (test.checkOnly) return null;
    const program = test.disableCheck ? env.compileUnchecked(test.expr) : env.compile(test.expr);
    const bindings = Object.fromEntries(
      Object.entries(test.bindings ?? {}).map(([name, b]) => [name, fromSpec(b.value ?? {})]),
    );
    found = program.resolve(env.begin(bindings, { units: 1_000_000 }));
  } catch (e) {
    if (!(e instanceof CelSyntaxError || e instanceof CelCheckError)) throw e;
    return expectsError ? null : `refused: ${e.diagnostics.map((d) => d.message).join("; ")}`;
  }
  if (found instanceof NonValue) {
    if (expectsError) return null;
    return found instanceof Unknown
      ? `unknown: ${JSON.stringify(found.causes)}`
      : `error: ${(found as { message?: string }).message}`;
  }
  if (expectsError) return `is ${show(found)}, expected an error`;
  const expected = fromSpec(test.value ?? test.typedResult?.result ?? { boolValue: true });
  return sameValue(found, expected) ? null : `is ${show(found)}, expected ${show(expected)}`;
}

function environmentOf(test: SpecTest) {
  const variables: Record<string, Type> = {};
  for (const name of Object.keys(test.bindings ?? {})) variables[name] = DYN;
  const functions: HostFunction[] = [];
  for (const d of test.typeEnv ?? []) {
    if (d.ident !== undefined) variables[d.name] = typeFromSpec(d.ident.type);
    for (const o of d.function?.overloads ?? []) {
      functions.push({
        name: d.name,
        parameters: (o.params ?? []).map(typeFromSpec),
        result: typeFromSpec(o.resultType),
        member: o.isInstanceFunction === true,
        // Declared only for the checker; no test calls it.
        implementation: () => null,
      });
    }
  }
  return environment({ variables, functions, container: test.container ?? "" });
}

function show(v: Value): string {
  const text = JSON.stringify(v, (_, x: unknown) =>
    typeof x === "bigint" ? `${x}i` : x instanceof Map ? [...x.values()] : x,
  );
  return `${text} (${typeof v})`;
}
