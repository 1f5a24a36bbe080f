import { BOOL, type Type } from "../check/type.ts";
import { type Failure, merge, NonValue, SPENT, type Unknown } from "../value/unknown.ts";
import type { Value } from "../value/value.ts";
import { blame, type Code, code, type Run, type Test } from "./code.ts";
import type { Frame } from "./frame.ts";
import type { Path } from "./paths.ts";

/**
 * Compiles `&&` (`decisive` false) or `||` (`decisive` true). One decisive operand gives the result. Otherwise any
 * unknown operand makes the result unknown, with all causes.
 */
export function logic(written: readonly Code[], decisive: boolean, describe: (f: Frame) => string): Code {
  const args = decisive ? written : fuse(written);
  const [a, b] = args as [Code, Code];
  const cost = a.cost + 1;
  const run = args.length === 1 ? a.run : args.length === 2 ? two(a, b, decisive) : many(args, decisive);
  return code({ run, cost, type: BOOL, describe });
}

/** Joins `has(a.b) && a.b == 1 && …` pairwise, to read the field once. The packs' 115 rules use `has` 422 times. */
function fuse(args: readonly Code[]): Code[] {
  const out: Code[] = [];
  for (let i = 0; i < args.length; i++) {
    const asks = args[i] as Code;
    const tested = args[i + 1];
    if (asks.asksFor !== null && tested?.tests?.path === asks.asksFor) {
      out.push(guarded(asks, asks.asksFor, tested, tested.tests.test));
      i++;
    } else out.push(asks);
  }
  return out;
}

function guarded(asks: Code, path: Path, tested: Code, test: Test): Code {
  const both = two(asks, tested, false);
  const run: Run = (f) => {
    const o = path.owner(f);
    if (o === null) return both(f);
    const v = o[path.key];
    if (v === undefined || v === null) return false;
    // `has` handles null and stale facts.
    return v instanceof NonValue ? both(f) : test(v, f);
  };
  return code({ run, cost: asks.cost + tested.cost, type: BOOL, describe: tested.describe });
}

function two(a: Code, b: Code, decisive: boolean): Run {
  const left = a.run;
  const right = b.run;
  const cost = b.cost;
  const neutral = !decisive;
  return (f) => {
    const x = left(f);
    if (x === decisive) return decisive;
    // biome-ignore lint/suspicious/noAssignInExpressions: the hottest line of the engine
    if ((f.left -= cost) < 0) return SPENT;
    const y = right(f);
    if (x === neutral) {
      if (y === true || y === false) return y;
      return blame(y, b, f);
    }
    if (y === decisive) return decisive;
    return y === neutral ? blame(x, a, f) : merge(blame(x, a, f), blame(y, b, f));
  };
}

/** Unrolls the first two operands, which saves 10 % of a condition's time. */
function many(args: readonly Code[], decisive: boolean): Run {
  const runs = args.map((a) => a.run);
  const costs = args.map((a) => a.cost);
  const [first, second] = runs as [Run, Run];
  const [a, b] = args as [Code, Code];
  const costB = b.cost;
  const neutral = !decisive;
  const rest = (f: Frame, from: number, before: Unknown | Failure | null): Value => {
    let bad = before;
    for (let i = from; i < runs.length; i++) {
      f.left -= costs[i] as number;
      if (f.left < 0) return SPENT;
      const x = (runs[i] as Run)(f);
      if (x === neutral) continue;
      if (x === decisive) return decisive;
      const why = blame(x, args[i] as Code, f);
      bad = bad === null ? why : merge(bad, why);
    }
    return bad === null ? neutral : bad;
  };
  return (f) => {
    const x = first(f);
    if (x === decisive) return decisive;
    if (x !== neutral) return rest(f, 1, blame(x, a, f));
    f.left -= costB;
    if (f.left < 0) return SPENT;
    const y = second(f);
    if (y === decisive) return decisive;
    return rest(f, 2, y === neutral ? null : blame(y, b, f));
  };
}

export function not(a: Code): Code {
  const operand = a.run;
  const run: Run = (f) => {
    const x = operand(f);
    return x === true ? false : x === false ? true : blame(x, a, f);
  };
  return code({ run, cost: a.cost + 1, type: BOOL, describe: a.describe });
}

export function conditional(test: Code, yes: Code, no: Code, type: Type, describe: (f: Frame) => string): Code {
  const choose =
    <T extends Value>(a: (f: Frame) => T, b: (f: Frame) => T): Run =>
    (f) => {
      const x = test.run(f);
      if (x === true) {
        f.left -= yes.cost;
        return f.left < 0 ? SPENT : a(f);
      }
      if (x === false) {
        f.left -= no.cost;
        return f.left < 0 ? SPENT : b(f);
      }
      return x instanceof NonValue ? (x as Value) : blame(x, test, f);
    };
  const small = yes.small !== null && no.small !== null ? choose(yes.small, no.small) : null;
  const [handsOn = null] = [yes, no].flatMap((arm) => (arm.fromBindings ? [arm] : (arm.handsOn ?? [])));
  return code({ run: choose(yes.run, no.run), small, cost: test.cost + 1, type, describe, handsOn });
}
