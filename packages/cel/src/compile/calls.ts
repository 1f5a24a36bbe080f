import type { Type } from "../check/type.ts";
import type { FunctionDeclaration, Implementation, Overload } from "../library.ts";
import { combine, Failure, merge, NonValue, SPENT, type Unknown, unknown } from "../value/unknown.ts";
import { Uint, type Value } from "../value/value.ts";
import { blame, type Code, code, type Run } from "./code.ts";
import { fits } from "./fits.ts";
import type { Frame } from "./frame.ts";

/** `args[0]` is the receiver of a member call. */
export function call(f: FunctionDeclaration, args: readonly Code[], type: Type, describe: (f: Frame) => string): Code {
  const cost = args.reduce((sum, a) => sum + a.cost, 1);
  if (f.variadic !== true && !f.overloads.some((o) => o.parameters.length === args.length)) {
    const none = new Failure(`no such overload: ${f.name} with ${args.length} arguments`);
    return code({ run: () => none, cost, type, describe });
  }
  const guard = f.acceptsUnknown ? total : f.checked ? checkedArguments : null;
  if (f.decides !== undefined)
    return code({
      run: deciding(f, f.decides, args),
      cost: 1 + (args[0]?.cost ?? 0),
      type,
      describe,
      handsOn: args[0]?.handsOn ?? null,
    });
  const run = guard === null ? strict(f, f.implementation, args) : guard(f, args);
  const small = f.small === undefined || guard !== null ? null : strict(f, f.small as Implementation, args);
  return code({ run, small, cost, type, describe });
}

/** Calls a library function, which checks types itself. */
function strict(f: FunctionDeclaration, implementation: Implementation, args: readonly Code[]): Run {
  const finish = (found: Value | undefined, values: readonly Value[], frame: Frame): Value => {
    if (frame.left < 0) return SPENT;
    return found === undefined ? noOverload(f, args, values, frame) : found;
  };
  const [a, b] = args as [Code, Code];
  if (args.length === 1) {
    const first = a.run;
    return (frame) => {
      const x = first(frame);
      if (typeof x === "object" && x instanceof NonValue) return x as Value;
      const found = implementation(frame, x);
      return found === undefined || frame.left < 0 ? finish(found, [x], frame) : found;
    };
  }
  if (args.length === 2) {
    const { run, path } = a;
    const second = b.run;
    const apply = (x: Value, y: Value, frame: Frame): Value => {
      if ((typeof x === "object" && x instanceof NonValue) || (typeof y === "object" && y instanceof NonValue)) {
        return combine([x, y]) as Value;
      }
      const found = implementation(frame, x, y);
      return found === undefined || frame.left < 0 ? finish(found, [x, y], frame) : found;
    };
    const constant = b.constant;
    if (constant === undefined) return (frame) => apply(run(frame), second(frame), frame);
    return path === null
      ? (frame) => apply(run(frame), constant, frame)
      : (frame) => apply(path.read(frame), constant, frame);
  }
  return (frame) => {
    const values = args.map((code) => code.run(frame));
    return combine(values) ?? finish(implementation(frame, ...values), values, frame);
  };
}

/** Calls a function whose first argument may make the others unnecessary (`orValue`). */
function deciding(
  f: FunctionDeclaration,
  decides: (first: Value) => Value | undefined,
  args: readonly Code[],
): Code["run"] {
  const [first, ...rest] = args as [Code, ...Code[]];
  const cost = rest.reduce((sum, a) => sum + a.cost, 0);
  return (frame) => {
    const x = first.run(frame);
    if (x instanceof NonValue) return x as Value;
    const decided = decides(x);
    if (decided !== undefined) return decided;
    frame.left -= cost;
    if (frame.left < 0) return SPENT;
    const values = [x, ...rest.map((a) => a.run(frame))];
    return combine(values) ?? f.implementation(frame, ...values) ?? noOverload(f, args, values, frame);
  };
}

/** Calls a host function that accepts unknown arguments, unless the budget is spent. */
function total(f: FunctionDeclaration, args: readonly Code[]): Run {
  const implementation = f.implementation;
  const [a, b] = args as [Code, Code];
  const finish = (found: Value | undefined, frame: Frame): Value => (frame.left < 0 ? SPENT : fromHost(found, f));
  if (args.length === 1) return (frame) => finish(implementation(frame, a.run(frame)), frame);
  if (args.length === 2) return (frame) => finish(implementation(frame, a.run(frame), b.run(frame)), frame);
  return (frame) => finish(implementation(frame, ...args.map((x) => x.run(frame))), frame);
}

function checkedArguments(f: FunctionDeclaration, args: readonly Code[]): Run {
  const ways = f.overloads;
  return (frame) => {
    const values = args.map((a) => a.run(frame));
    const bad = combine(values);
    if (bad !== null) return bad;
    // JSON null is a missing fact, so it fits only a declared null, not dyn.
    const takes = (v: Value, t: Type) => (v === null ? t.kind === "null" : fits(v, t));
    const way = ways.find((o) => values.every((v, i) => takes(v, parameterAt(f, o, i))));
    if (way === undefined) return noOverload(f, args, values, frame);
    const given = values.map((v, i) => forHost(v, parameterAt(f, way, i)));
    const found = fromHost(f.implementation(frame, ...given), f);
    return frame.left < 0 ? SPENT : found;
  };
}

function parameterAt(f: FunctionDeclaration, o: Overload, i: number): Type {
  const last = o.parameters.length - 1;
  return o.parameters[f.variadic ? Math.min(i, last) : i] as Type;
}

/** Converts a declared double to a number. */
function forHost(v: Value, declared: Type): Value {
  if (declared.kind !== "double") return v;
  return typeof v === "bigint" ? Number(v) : v instanceof Uint ? Number(v.unsigned) : v;
}

/** Converts whole numbers to ints where int is declared. */
function fromHost(found: Value | undefined, f: FunctionDeclaration): Value {
  if (found === undefined) throw new TypeError(`the host function ${f.name} returned nothing`);
  if (typeof found === "number" && f.overloads[0]?.result.kind === "int" && Number.isSafeInteger(found))
    return BigInt(found);
  return found;
}

/** Blames the arguments that no overload accepts. If each fits alone, blames all that are not constants. */
function noOverload(f: FunctionDeclaration, args: readonly Code[], values: readonly Value[], frame: Frame): Value {
  const wrong = values.map(
    (v, i) => v === null || !f.overloads.some((o) => i < o.parameters.length && fits(v, parameterAt(f, o, i))),
  );
  const anyWrong = wrong.some((w) => w);
  let found: Unknown | Failure | null = null;
  for (const [i, arg] of args.entries()) {
    if (anyWrong ? wrong[i] !== true : arg.constant !== undefined) continue;
    const why = blame(values[i] as Value, arg, frame);
    found = found === null ? why : merge(found, why);
  }
  return found ?? unknown(f.name, "type");
}
